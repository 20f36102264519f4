"""The clock of the database: one for all hosts, whatever their own clocks say."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """Returns the time by the database's clock. One statement."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    assert row is not None
    now: datetime = row[0]
    return now
