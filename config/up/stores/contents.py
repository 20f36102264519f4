"""What a PostgreSQL server holds, as numbers: per table its rows and a sum over all of them, to compare two servers.

The sum does not depend on the order of rows. Every column of every row goes into it, in PostgreSQL's own hashes, which
are the same in all versions: it places rows of partitioned tables by them.
"""

from dataclasses import dataclass

import psycopg
from psycopg import sql

Table = tuple[str, str]  # database, table
# A value without a hash of its own (such as json) is hashed as text. PostgreSQL knows what can be hashed.
TABLES = """
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
ORDER BY 1
"""
SEQUENCES = "SELECT format('%I.%I', schemaname, sequencename), coalesce(last_value, 0) FROM pg_sequences ORDER BY 1"
ROWS = "SELECT count(*), coalesce(sum(hash_record_extended(t, 0)), 0)::text FROM ONLY {} t"
ROWS_AS_TEXT = "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)), 0)::text FROM ONLY {} t"
# Texts of times and floats must not depend on the server's settings.
SESSION = "SET timezone = 'UTC'; SET extra_float_digits = 1; SET bytea_output = 'hex'; SET default_tablespace = ''"


@dataclass(frozen=True, slots=True)
class TableSum:
    """The rows of a table, and the sum of their hashes. Of a sequence, `total` is its last value."""

    rows: int
    total: str


def read_databases(connection_text: str) -> list[str]:
    """Returns the names of all databases that hold something."""
    with psycopg.connect(connection_text) as connection:
        rows = connection.execute(
            "SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY 1"
        ).fetchall()
    return [str(name) for (name,) in rows]


def read_contents(
    connection: "psycopg.Connection[tuple[object, ...]]", database: str, *, with_sequences: bool = True
) -> dict[Table, TableSum]:
    """Returns the sum of each table and sequence of the database that the connection is in. Reads all of it.

    Sequences are no part of a snapshot: they move on while others write.
    """
    contents: dict[Table, TableSum] = {}
    connection.execute(SESSION)
    for (table,) in connection.execute(TABLES).fetchall():
        contents[database, str(table)] = sum_table(connection, str(table))
    for name, last in connection.execute(SEQUENCES).fetchall() if with_sequences else ():
        contents[database, str(name)] = TableSum(1, str(last))
    return contents


def sum_table(connection: "psycopg.Connection[tuple[object, ...]]", table: str) -> TableSum:
    """Returns the sum of one table, whose name is quoted as far as it must be."""
    name = sql.SQL(table)  # as regclass wrote it, with its own quotes
    try:
        with connection.transaction():
            row = connection.execute(sql.SQL(ROWS).format(name)).fetchone()
    except psycopg.errors.UndefinedFunction:  # "could not identify an extended hash function for type json"
        row = connection.execute(sql.SQL(ROWS_AS_TEXT).format(name)).fetchone()
    assert row is not None
    return TableSum(int(str(row[0])), str(row[1]))


def describe_difference(before: dict[Table, TableSum], after: dict[Table, TableSum]) -> str:
    """Returns a sentence about the first difference; an empty text if both are equal."""
    for database, table in sorted(before.keys() | after.keys()):
        old, new = before.get((database, table)), after.get((database, table))
        if old != new:
            shown = " but ".join(f"{one.rows:,} rows" if one else "none" for one in (old, new))
            if old and new and old.rows == new.rows:
                shown = f"{old.rows:,} rows, with other values"
            return f"{table} in {database} is not the same: {shown}."
    return ""
