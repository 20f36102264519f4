"""Partitions that a test has made and committed."""

from datetime import date

from django.db import connection

from ingest.storage.receipt_partitions import PARTITION_DAYS
from profcore.times import DAY


def drop_made_partitions(*days: date) -> None:
    """Drops the partitions of some days, which must be later than those that every test has."""
    with connection.cursor() as cursor:
        for day in days:
            cursor.execute(f"DROP TABLE IF EXISTS ingest_rawtrace_{day:%Y%m%d}")
            first = day - DAY * (day.toordinal() % PARTITION_DAYS)
            cursor.execute(f"DROP TABLE IF EXISTS ingest_tracereceipt_{first:%Y%m%d}")
