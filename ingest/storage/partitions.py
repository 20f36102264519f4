"""Daily partitions of the raw traces, and those of their receipts: created ahead, dropped by retention."""

from datetime import date

from django.db import connection, transaction
from psycopg.sql import SQL, Identifier

from ingest.storage.receipt_partitions import create_receipt_partitions
from profcore.times import DAY, bounds_of_day

DAYS_AHEAD = 7  # partitions exist this many days ahead
LOCK_KEY = 0x7261_7774  # "rawt": one session at a time creates partitions
LOCK_TIMEOUT = "1s"  # a longer wait would make those behind it wait too; the next try is the beat's
CREATE_PARTITION = SQL("CREATE TABLE {name} (LIKE ingest_rawtrace INCLUDING ALL)")
ATTACH_PARTITION = SQL("ALTER TABLE ingest_rawtrace ATTACH PARTITION {name} FOR VALUES FROM ({start}) TO ({end})")


def create_partitions(first_on: date, days: int) -> int:
    """Creates the partitions of `days` UTC days from `first_on`; returns for how many days there were none.

    Each is made apart and then attached, which waits for no reader and no writer, and makes none of them wait:
    `CREATE TABLE … PARTITION OF` takes the whole table, and behind a dump that reads it for minutes the endpoint stood
    still. Raises `django.db.OperationalError` if a lock is not free within `LOCK_TIMEOUT`.
    """
    created = 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_KEY])
        for offset in range(days):
            day = first_on + offset * DAY
            name = f"ingest_rawtrace_{day:%Y%m%d}"
            cursor.execute("SELECT to_regclass(%s) IS NULL", [name])
            row = cursor.fetchone()
            if row is not None and row[0]:
                start, end = (moment.isoformat() for moment in bounds_of_day(day))
                cursor.execute(CREATE_PARTITION.format(name=Identifier(name)))
                cursor.execute(ATTACH_PARTITION.format(name=Identifier(name), start=start, end=end))
                created += 1
        create_receipt_partitions(first_on, days)
    return created


def create_coming_partitions(today: date, days_ahead: int) -> int:
    """Creates the partitions from yesterday to `days_ahead` days ahead; returns for how many days there were none.

    Yesterday's is for hosts whose clock is a little behind.
    """
    return create_partitions(today - DAY, days_ahead + 2)
