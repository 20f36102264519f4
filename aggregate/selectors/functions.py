"""The funcs of a slice, by their exact sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from aggregate.selectors.labels import label_func, place_of
from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from profcore.weights import TIME_PART_NAMES, TimeParts

# Ties are broken by the other sums and at last by id, so that equal data gives equal order.
FUNCTION_SORTS: Final = {
    "self_ms": "t.self_us DESC, t.total_us DESC, t.func_id",
    "total_ms": "t.total_us DESC, t.self_us DESC, t.func_id",
    "views": "t.views DESC, t.self_us DESC, t.func_id",
}
SUM_PARTS: Final = ", ".join(f"COALESCE(sum({name}), 0)::bigint AS {name}" for name in TIME_PART_NAMES)


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """One func's sums in a slice. `views` counts those that ran it. `line` and `column` say where it is defined."""

    id: int
    name: str
    uri: str | None
    line: int | None
    column: int | None
    self_samples: int
    total_samples: int
    self_us: int
    total_us: int
    hidden_us: int
    views: int

    @property
    def label(self) -> str:
        """What to call it."""
        return label_func(self.name, self.uri, self.line, self.column)

    @property
    def place(self) -> str:
        """`file:line:column` of its definition, "" for a built-in."""
        return place_of(self.uri, self.line, self.column)


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """A slice's sums and its funcs in the order asked for; `function_count` counts those beyond the limit too."""

    views: int
    traces: int
    time: TimeParts
    function_count: int
    functions: Sequence[FunctionRow]

    def self_share(self, row: FunctionRow) -> float | None:
        """Returns a func's part of the slice's JS time, None where there is none."""
        return row.self_us / self.time.js_us if self.time.js_us else None


def select_functions(slice_: Slice, *, sort: str = "self_ms", limit: int) -> FunctionTable:
    """Returns a slice's sums and its funcs with JS or hidden time. `sort` is a key of `FUNCTION_SORTS`.

    One statement, so that sums and funcs are of one moment.
    """
    where, params = where_slice(slice_)
    order = FUNCTION_SORTS[sort]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH picked AS MATERIALIZED (SELECT c.* {FROM_CELLS} WHERE {where}),
            whole AS (SELECT COALESCE(sum(views), 0)::bigint AS views, COALESCE(sum(traces), 0)::bigint AS traces,
                             {SUM_PARTS} FROM picked),
            spots AS (
                SELECT h.func_id, sum(h.self_samples)::bigint AS self_samples,
                       sum(h.total_samples)::bigint AS total_samples, sum(h.self_us)::bigint AS self_us,
                       sum(h.total_us)::bigint AS total_us, sum(h.hidden_us)::bigint AS hidden_us,
                       sum(h.views)::bigint AS views
                FROM aggregate_hotspot h JOIN picked p ON p.id = h.cell_id WHERE h.project_id = %(project_id)s
                GROUP BY h.func_id HAVING sum(h.total_us) > 0 OR sum(h.hidden_us) > 0),
            top AS (SELECT t.*, count(*) OVER () AS found FROM spots t ORDER BY {order} LIMIT %(limit)s)
            SELECT whole.*, COALESCE(t.found, 0), t.func_id, f.name, f.uri, f.line, f.col, t.self_samples,
                   t.total_samples, t.self_us, t.total_us, t.hidden_us, t.views
            FROM whole LEFT JOIN top t ON true
                 LEFT JOIN aggregate_func f ON f.project_id = %(project_id)s AND f.id = t.func_id
            ORDER BY {order}""",
            {**params, "limit": limit},
        )
        return _read_table(cursor.fetchall())


def _read_table(rows: Sequence[tuple[Any, ...]]) -> FunctionTable:  # Any: rows as the driver types them
    parts = 2 + len(TIME_PART_NAMES)
    first = rows[0]  # `whole` is always one row
    return FunctionTable(
        views=first[0],
        traces=first[1],
        time=TimeParts(*first[2:parts]),
        function_count=first[parts],
        functions=[FunctionRow(*row[parts + 1 :]) for row in rows if row[parts + 1] is not None],
    )
