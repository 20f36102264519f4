"""The times of a slice's views by any of its values, bucket by bucket: series for charts of other tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from aggregate.models import Cell
from aggregate.selectors.slice.slices import FROM_CELLS, PLACE_ATTRIBUTES, Slice, SliceError, where_slice
from aggregate.sql import select_rows
from profcore.times import DAY, HOUR
from profcore.trace.dimensions import DIMENSIONS

# Rows of sums that one answer reads: of 200 pages, each hour of two days and each day of a year. They take about 30 MB.
MAX_ROWS: Final = 100_000
# Combinations of values that one answer lists: a project's pages (`MAX_PAGES`), twice.
MAX_VALUES: Final = 20_000

COLUMNS: Final = {name: f"g.{name}" for name in PLACE_ATTRIBUTES} | {
    dimension.name: f"c.{dimension.column}" for dimension in DIMENSIONS
}
VALUES_OF: Final = {dimension.name: dimension.values for dimension in DIMENSIONS}


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketTimes:
    """The sums of one bucket of one series. `values` are those of the fields by which the sums were wanted."""

    values: tuple[str, ...]
    starts_at: datetime
    ends_at: datetime
    js_us: int
    hidden_us: int
    engine_us: int


def select_label_sums(slice_: Slice, fields: Sequence[str]) -> list[BucketTimes]:
    """Returns the exact sums of a slice by some of `VALUE_FIELDS` and by bucket, in order. One statement.

    Buckets are the hours of cells, or days where these have been merged. Raises `SliceError` if there are too many.
    """
    where, params = where_slice(slice_)
    rows = select_rows(
        f"""SELECT c.starts_at, c.grain, sum(c.js_us)::bigint, sum(c.hidden_us)::bigint, sum(c.engine_us)::bigint
                   {"".join(f", {COLUMNS[field]}" for field in fields)}
            {FROM_CELLS} WHERE {where} AND c.traces > 0
            GROUP BY {", ".join(("1, 2", *(COLUMNS[field] for field in fields)))}
            ORDER BY 1 LIMIT {MAX_ROWS + 1}""",
        params,
    )
    if len(rows) > MAX_ROWS:
        raise SliceError("group_by", f"There are more than {MAX_ROWS} sums. Group by less, or take a shorter time.")
    return [
        BucketTimes(
            values=_read_values(fields, values),
            starts_at=at,
            ends_at=at + (DAY if grain == Cell.Grain.DAY else HOUR),
            js_us=js_us,
            hidden_us=hidden_us,
            engine_us=engine_us,
        )
        for at, grain, js_us, hidden_us, engine_us, *values in rows
    ]


def select_label_values(slice_: Slice, fields: Sequence[str]) -> list[tuple[str, ...]]:
    """Returns the combinations of values that a slice has of some of `VALUE_FIELDS`, in order. One statement.

    Raises `SliceError` if there are too many.
    """
    where, params = where_slice(slice_)
    columns = ", ".join(("true", *(COLUMNS[field] for field in fields)))  # without a field: whether there is data
    rows = select_rows(
        f"SELECT DISTINCT {columns} {FROM_CELLS} WHERE {where} AND c.traces > 0 LIMIT {MAX_VALUES + 1}", params
    )
    if len(rows) > MAX_VALUES:
        raise SliceError(
            "label", f"There are more than {MAX_VALUES} combinations. Take fewer labels, or a shorter time."
        )
    return sorted(_read_values(fields, values) for _, *values in rows)


def select_time_range(slice_: Slice) -> tuple[datetime, datetime] | None:
    """Returns the start of a slice's first bucket and of its last, None without data. One statement."""
    where, params = where_slice(slice_)
    rows = select_rows(f"SELECT min(c.starts_at), max(c.starts_at) {FROM_CELLS} WHERE {where} AND c.traces > 0", params)
    ((first, last),) = rows
    return None if first is None else (first, last)


def _read_values(fields: Sequence[str], values: Sequence[Any]) -> tuple[str, ...]:  # Any: texts, and codes
    return tuple(
        VALUES_OF[field][value] if field in VALUES_OF else value for field, value in zip(fields, values, strict=True)
    )
