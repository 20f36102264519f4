"""The size of the database over time, by which the doctor says for how many days the disk suffices."""

from datetime import datetime
from typing import Final

from django.db import connection

from aggregate.models import StoreSize
from profcore.times import DAY, start_of_hour

KEEP: Final = 60 * DAY  # 1,440 rows


def measure_store(now: datetime) -> None:
    """Stores the size of the database, once an hour, and deletes old ones."""
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO aggregate_storesize (measured_at, database_bytes)
               VALUES (%s, pg_database_size(current_database())) ON CONFLICT DO NOTHING""",
            [start_of_hour(now)],
        )
    StoreSize.objects.filter(measured_at__lt=now - KEEP).delete()
