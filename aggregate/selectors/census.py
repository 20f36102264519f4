"""One func's sums broken down by a dimension."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection

from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from profcore.dimensions import BROWSERS, DEVICE_CLASSES

# What a cell has of each dimension, as text or code.
DIMENSIONS: Final = {
    "release": "g.release",
    "page": "g.page",
    "device": "c.device_class",
    "browser": "c.browser",
    "day": "to_char(c.bucket_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
}
WORDS: Final = {"device": DEVICE_CLASSES, "browser": BROWSERS}
MAX_ROWS: Final = 10_000


@dataclass(frozen=True, slots=True)
class CensusRow:
    """A func's sums in one value of a dimension. `views` are all of it, `func_views` those that ran the func."""

    value: str
    views: int
    func_views: int
    self_us: int
    total_us: int
    hidden_us: int
    self_samples: int
    total_samples: int


def select_census(slice_: Slice, func_id: int, by: str) -> Sequence[CensusRow]:
    """Returns a func's sums by a dimension, also where it took none; `by` is a key of `DIMENSIONS`. One statement.

    Days come in their order, other dimensions with the most self time first.
    """
    where, params = where_slice(slice_)
    order = "1" if by == "day" else "4 DESC, 1"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {DIMENSIONS[by]}, sum(c.views)::bigint, COALESCE(sum(h.views), 0)::bigint,
                       COALESCE(sum(h.self_us), 0)::bigint, COALESCE(sum(h.total_us), 0)::bigint,
                       COALESCE(sum(h.hidden_us), 0)::bigint, COALESCE(sum(h.self_samples), 0)::bigint,
                       COALESCE(sum(h.total_samples), 0)::bigint
                {FROM_CELLS}
                LEFT JOIN aggregate_hotspot h
                     ON h.project_id = c.project_id AND h.cell_id = c.id AND h.func_id = %(func_id)s
                WHERE {where} AND c.views > 0 GROUP BY 1 ORDER BY {order} LIMIT {MAX_ROWS}""",
            {**params, "func_id": func_id},
        )
        rows = cursor.fetchall()
    words = WORDS.get(by)
    return [CensusRow(words[value] if words else value, *sums) for value, *sums in rows]
