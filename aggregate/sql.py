"""Rows of statements: as they are, or as records, where each column fills the field of its name."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from django.db import connection
from psycopg.rows import class_row

from profcore.trace.dimensions import DIMENSION_COLUMNS, DIMENSIONS

Record = TypeVar("Record")


def dimension_columns(table: str) -> str:
    """Returns the columns of a row's dimensions, given its table's alias."""
    return ", ".join(f"{table}.{column}" for column in DIMENSION_COLUMNS)


def leave_out(table: str, asked: Collection[str] = ()) -> str:
    """Returns the condition on a table's rows that leaves out what sums do not have: bots, and all but production.

    Dimensions whose names are in `asked` leave nothing out.
    """
    conditions = [
        f"{table}.{dimension.column} <> ALL('{array_text(dimension.left_out)}'::smallint[])"
        for dimension in DIMENSIONS
        if dimension.left_out and dimension.name not in asked
    ]
    return " AND ".join(conditions) or "true"


def array_text(values: Iterable[int | None]) -> str:
    """Returns numbers as PostgreSQL writes an array of them.

    The driver takes ten times as long to make a list of numbers binary, which saves the server little.
    """
    return "{" + ",".join(map(str, values)).replace("None", "NULL") + "}"


def select_records(
    record: type[Record],
    statement: str,
    params: Sequence[Any] | Mapping[str, Any],  # Any: parameters of a statement
) -> list[Record]:
    """Returns the rows of a statement whose columns have the names of the record's fields.

    For lists of some hundred rows. Loops over thousands unpack each row into named variables, which is quicker.
    """
    with connection.cursor() as cursor:
        cursor.cursor.row_factory = class_row(record)
        cursor.execute(statement, params)
        return list(cursor.fetchall())


def select_rows(statement: str, params: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:  # Any: as above
    """Returns the rows of a statement as the driver types them."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())
