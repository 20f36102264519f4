"""Partitions that a test has made and committed."""

from datetime import date

from django.db import connection

from ingest.receipt_partitions import list_receipt_partitions


def drop_made_partitions(*days: date) -> None:
    """Drops the raw traces' partitions of some days, and all of receipts except the first."""
    made = [partition.name for partition in list_receipt_partitions() if partition.start_at is not None]
    with connection.cursor() as cursor:
        for name in [*made, *(f"ingest_rawtrace_{day:%Y%m%d}" for day in days)]:
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
