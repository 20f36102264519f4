"""What a database holds, as numbers: per table its rows and a sum over all of them, to compare two databases.

The sum does not depend on the order of rows. Every column of every row goes into it, in PostgreSQL's own hashes, which
are the same in all versions: it places rows of partitioned tables by them.
"""

import psycopg
from psycopg import sql

from ops.backup.manifest import KeptTable

# A value without a hash of its own (such as json) is hashed as text. PostgreSQL knows what can be hashed.
TABLES = """
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
ORDER BY 1
"""
ROWS = "SELECT count(*), coalesce(sum(hash_record_extended(t, 0)), 0)::text FROM ONLY {} t"
ROWS_AS_TEXT = "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)), 0)::text FROM ONLY {} t"
# Texts of times and floats must not depend on the server's settings.
SESSION = "SET timezone = 'UTC'; SET extra_float_digits = 1; SET bytea_output = 'hex'; SET default_tablespace = ''"


def read_contents(connection: "psycopg.Connection[tuple[object, ...]]") -> dict[str, KeptTable]:
    """Returns the sum of each table of the database. Reads all of it.

    Sequences are not read. They are no part of a snapshot: they move on while others write.
    """
    connection.execute(SESSION)
    tables = [str(table) for (table,) in connection.execute(TABLES).fetchall()]
    return {table: sum_table(connection, table) for table in tables}


def sum_table(connection: "psycopg.Connection[tuple[object, ...]]", table: str) -> KeptTable:
    """Returns the sum of one table, whose name is quoted as far as it must be."""
    name = sql.SQL(table)  # as regclass wrote it, with its own quotes
    try:
        with connection.transaction():
            row = connection.execute(sql.SQL(ROWS).format(name)).fetchone()
    except psycopg.errors.UndefinedFunction:  # "could not identify an extended hash function for type json"
        row = connection.execute(sql.SQL(ROWS_AS_TEXT).format(name)).fetchone()
    assert row is not None
    return KeptTable(rows=int(str(row[0])), total=str(row[1]))


def describe_difference(before: dict[str, KeptTable], after: dict[str, KeptTable]) -> str:
    """Returns a sentence about the first difference; an empty text if both are equal."""
    for table in sorted(before.keys() | after.keys()):
        old, new = before.get(table), after.get(table)
        if old != new:
            difference = " but ".join(f"{kept.rows:,} rows" if kept else "none" for kept in (old, new))
            if old and new and old.rows == new.rows:
                difference = f"{old.rows:,} rows, with other values"
            return f"{table} is not the same: {difference}."
    return ""
