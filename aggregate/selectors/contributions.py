"""A slice by its views: which there are, what each contributed, and the exact sums of that."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import connection

from aggregate.selectors.slices import FROM_CELLS, Slice, SliceError, where_slice
from profcore.blobs import Contribution, decode_contribution_list
from profcore.weights import TIME_PART_NAMES, TimeParts

PART_COLUMNS: Final = ", ".join(f"v.{name}" for name in TIME_PART_NAMES)
COLUMNS: Final = ("self_samples", "total_samples", "self_us", "total_us", "hidden_us")


@dataclass(frozen=True, slots=True)
class FuncSums:
    """One func's exact sums in a slice; `views` counts those that ran it."""

    self_samples: int
    total_samples: int
    self_us: int
    total_us: int
    hidden_us: int
    views: int


@dataclass(frozen=True, slots=True)
class SliceView:
    """One view of a slice: where it lies, the parts of its time, its contribution."""

    view_id: UUID
    group_id: int
    cell_id: int
    release: str
    page: str
    browser: int
    device: int
    bucket_at: datetime
    grain: int
    traces: int
    is_truncated: bool
    sample_rate: float
    time: TimeParts
    contribution: Contribution

    def position_of(self, func_id: int) -> int | None:
        """Returns where a func stands in the contribution, None where the view did not run it."""
        position = int(np.searchsorted(self.contribution.func, func_id))
        found = position < len(self.contribution.func) and self.contribution.func[position] == func_id
        return position if found else None

    def total_of(self, func_id: int) -> int:
        """Returns a func's total in this view, µs."""
        position = self.position_of(func_id)
        return 0 if position is None else self.contribution.total_us[position]


def select_slice_views(slice_: Slice, *, func_id: int | None = None) -> Sequence[SliceView]:
    """Returns the views of a slice, in order of id; with `func_id`, those in whose cells that func ran.

    Traces and tags are not looked at: they lie in raw traces. One statement. Raises `SliceError` where there are more
    than `READ_MAX_VIEWS`.
    """
    where, params = where_slice(slice_)
    funcs = [func for func, _ in slice_.func_over] + ([func_id] if func_id is not None else [])
    if slice_.views:
        where += " AND v.view_id = ANY(%(views)s::uuid[])"
    for position, func in enumerate(funcs):
        where += f""" AND EXISTS (SELECT FROM aggregate_hotspot h WHERE h.project_id = c.project_id
                                 AND h.cell_id = c.id AND h.func_id = %(func_{position})s)"""
        params[f"func_{position}"] = func
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT v.view_id, v.group_id, v.cell_id, g.release, g.page, c.browser, c.device_class, c.bucket_at,
                       c.grain, v.traces, v.is_truncated, v.contribution, coalesce(v.sample_rate, 1.0), {PART_COLUMNS}
                {FROM_CELLS}
                JOIN aggregate_view v ON v.project_id = c.project_id AND v.cell_id = c.id
                WHERE {where} ORDER BY v.view_id, v.group_id LIMIT %(limit)s""",
            {**params, "views": list(slice_.views), "limit": settings.READ_MAX_VIEWS + 1},
        )
        rows = cursor.fetchall()
    if len(rows) > settings.READ_MAX_VIEWS:
        raise SliceError("from", f"The slice has more than {settings.READ_MAX_VIEWS} views; narrow it, e.g. by from.")
    contributions = decode_contribution_list([bytes(row[11]) for row in rows])
    views = [
        SliceView(*[*row[:11], row[12], TimeParts(*row[13:]), own])
        for row, own in zip(rows, contributions, strict=True)
    ]
    return [view for view in views if all(view.total_of(func) > over_us for func, over_us in slice_.func_over)]


def sum_times(views: Iterable[SliceView]) -> TimeParts:
    """Returns the sum of the parts of time of views."""
    time = TimeParts()
    for view in views:
        time.add(view.time)
    return time


def sum_contributions(contributions: Sequence[Contribution]) -> dict[int, FuncSums]:
    """Returns the exact sums of contributions, by func id."""
    if not any(contribution.func for contribution in contributions):
        return {}

    def column(name: str) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        return np.concatenate([np.asarray(getattr(each, name), dtype=np.int64) for each in contributions])

    func = column("func")
    order = np.argsort(func, kind="stable")
    ids, starts = np.unique(func[order], return_index=True)
    sums = [np.add.reduceat(column(name)[order], starts).tolist() for name in COLUMNS]
    # Hidden time alone does not make a view one that ran a func.
    counts = np.add.reduceat((column("total_samples")[order] > 0).astype(np.int64), starts)
    return {func_id: FuncSums(*values) for func_id, *values in zip(ids.tolist(), *sums, counts.tolist(), strict=True)}
