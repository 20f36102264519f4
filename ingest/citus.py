"""Whether the database is one of a Citus cluster."""

from django.db import connection


def has_citus() -> bool:
    """Returns whether the database has the extension. One statement."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_extension WHERE extname = 'citus'")
        row = cursor.fetchone()
    return row is not None and bool(row[0])
