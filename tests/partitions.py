"""Partitions that a test has made and committed."""

from datetime import date

from django.db import connection

from ingest.storage.receipt_partitions import TABLE, first_day_of


def drop_made_partitions(*days: date) -> None:
    """Drops the partitions of some days, which must be later than those that every test has."""
    with connection.cursor() as cursor:
        for day in days:
            cursor.execute(f"DROP TABLE IF EXISTS ingest_rawtrace_{day:%Y%m%d}")
            cursor.execute(f"DROP TABLE IF EXISTS {TABLE}_{first_day_of(day):%Y%m%d}")
