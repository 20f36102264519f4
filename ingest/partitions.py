"""Daily partitions of the raw traces: made ahead, dropped by retention."""

from datetime import UTC, date, datetime, timedelta

from django.db import connection, transaction

LOCK_KEY = 0x7261_7774  # "rawt": partitions are made by one session at a time


def create_partitions(first_on: date, days: int) -> int:
    """Creates the partitions of `days` UTC days from `first_on`; returns how many were new."""
    created = 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_KEY])
        for offset in range(days):
            day = first_on + timedelta(days=offset)
            name = f"ingest_rawtrace_{day:%Y%m%d}"
            cursor.execute("SELECT to_regclass(%s) IS NULL", [name])
            row = cursor.fetchone()
            if row is not None and row[0]:
                low = datetime(day.year, day.month, day.day, tzinfo=UTC)
                cursor.execute(
                    # The name is made of digits; bounds cannot be parameters of a utility statement.
                    f"CREATE TABLE {name} PARTITION OF ingest_rawtrace"
                    f" FOR VALUES FROM ('{low.isoformat()}') TO ('{(low + timedelta(days=1)).isoformat()}')"
                )
                created += 1
    return created


def create_coming_partitions(today: date, days_ahead: int) -> int:
    """Creates yesterday's to `days_ahead` days' partitions: a host's clock may be a little behind."""
    return create_partitions(today - timedelta(days=1), days_ahead + 2)
