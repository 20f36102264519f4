"""One func's sums broken down by a dimension."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Final

from django.db import connection

from aggregate.selectors.code import RowId
from aggregate.selectors.contributions import SliceView
from aggregate.selectors.fine import select_seen_views
from aggregate.selectors.groups import is_made_id
from aggregate.selectors.made_rows import find_made
from aggregate.selectors.refs import FuncRef, find_ref
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
VALUES: Final[Mapping[str, Callable[[SliceView], str]]] = {
    "release": lambda view: view.release,
    "page": lambda view: view.page,
    "device": lambda view: DEVICE_CLASSES[view.device],
    "browser": lambda view: BROWSERS[view.browser],
    "day": lambda view: view.bucket_at.astimezone(UTC).strftime("%Y-%m-%d"),
}
WORDS: Final = {"device": DEVICE_CLASSES, "browser": BROWSERS}
MAX_ROWS: Final = 10_000


@dataclass(frozen=True, slots=True)
class CensusRow:
    """A func's sums in one value of a dimension. `views` are all of it, `func_views` those that ran the func.

    What is no sum over funcs is None for what a display rule made of several: totals and views.
    """

    value: str
    views: int
    func_views: int | None
    self_us: int
    total_us: int | None
    hidden_us: int
    self_samples: int
    total_samples: int | None


@dataclass(frozen=True, slots=True)
class Census:
    """One func's sums by a dimension, and what they were taken from: cells, contributions or raw."""

    source: str
    rows: Sequence[CensusRow]


def select_census(slice_: Slice, func_id: RowId, by: str) -> Census:
    """Returns a function's sums by a dimension, also where it took none; `by` is a key of `DIMENSIONS`.

    Where a release has copies of it, as in two bundles, a sample counts for the total of each copy on its stack, and a
    view for each that it ran.

    Days come in their order, other dimensions with the most self time first. One statement, of a fine slice more:
    then the views, or of `trace` and `tag` the raw traces, are read at once. Raises `SliceError`.
    """
    made = find_made(slice_, str(func_id)) if is_made_id(func_id) else None
    ref = made.ref if made else find_ref(slice_.project_id, func_id)
    census = _from_views(slice_, ref, by) if slice_.is_fine else Census("cells", _from_cells(slice_, ref, by))
    if made is None:
        return census
    return replace(
        census, rows=[replace(row, func_views=None, total_us=None, total_samples=None) for row in census.rows]
    )


def _from_views(slice_: Slice, ref: FuncRef, by: str) -> Census:
    seen_views = select_seen_views(slice_)
    rows: dict[str, list[int]] = {}
    for view in seen_views.views:
        sums = rows.setdefault(VALUES[by](view), [0] * 7)
        seen = view.contribution
        columns = (seen.self_us, seen.total_us, seen.hidden_us, seen.self_samples, seen.total_samples)
        sums[0] += 1
        for at in view.positions_of(ref):
            sums[1] += seen.total_samples[at] > 0
            for number, column in enumerate(columns, start=2):
                sums[number] += column[at]
    found = [CensusRow(value, *sums) for value, sums in rows.items()]
    found.sort(key=lambda row: (0 if by == "day" else -row.self_us, row.value))
    return Census(seen_views.source, found[:MAX_ROWS])


def _from_cells(slice_: Slice, ref: FuncRef, by: str) -> Sequence[CensusRow]:
    where, params = where_slice(slice_)
    is_it = "h.func_id = ANY(%(funcs)s::int[])"
    if ref.pairs is not None:
        pairs = sorted(ref.pairs)
        params |= {"releases_of": [release for release, _ in pairs], "funcs_of": [func for _, func in pairs]}
        is_it += """ AND (g.release, h.func_id)
                        IN (SELECT * FROM unnest(%(releases_of)s::text[], %(funcs_of)s::int[]))"""
    order = "1" if by == "day" else "4 DESC, 1"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {DIMENSIONS[by]}, sum(c.views)::bigint, COALESCE(sum(h.views), 0)::bigint,
                       COALESCE(sum(h.self_us), 0)::bigint, COALESCE(sum(h.total_us), 0)::bigint,
                       COALESCE(sum(h.hidden_us), 0)::bigint, COALESCE(sum(h.self_samples), 0)::bigint,
                       COALESCE(sum(h.total_samples), 0)::bigint
                {FROM_CELLS}
                LEFT JOIN LATERAL (
                    SELECT sum(h.views) AS views, sum(h.self_us) AS self_us, sum(h.total_us) AS total_us,
                           sum(h.hidden_us) AS hidden_us, sum(h.self_samples) AS self_samples,
                           sum(h.total_samples) AS total_samples
                    FROM aggregate_hotspot h
                    WHERE h.project_id = c.project_id AND h.cell_id = c.id AND {is_it}) h ON true
                WHERE {where} AND c.views > 0 GROUP BY 1 ORDER BY {order} LIMIT {MAX_ROWS}""",
            {**params, "funcs": list(ref.funcs)},
        )
        rows = cursor.fetchall()
    words = WORDS.get(by)
    return [CensusRow(words[value] if words else value, *sums) for value, *sums in rows]
