"""The views of a slice, their contributions, and the exact sums of these."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db import connection

from aggregate.selectors.code.refs import FuncRef
from aggregate.selectors.page_views.view_rows import (
    FROM_VIEWS,
    VIEW_COLUMNS,
    Rows,
    ViewKey,
    fetch_views,
    find_func_over,
    split_rows,
    where_views,
)
from aggregate.selectors.slice.reading import NARROW, Reading, SliceTooLarge
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from profcore.stats.sampling import bound_of_sample
from profcore.sums.blobs import Contribution, decode_contribution_list
from profcore.trace.dimensions import DIMENSIONS, name_codes
from profcore.trace.weights import TimeParts

# The columns of a contribution that `SliceFuncSums` has.
COLUMNS: Final = (
    "self_samples",
    "total_samples",
    "self_us",
    "total_us",
    "hidden_us",
    "hidden_total_us",
    "uncertain_us",
)


NO_CONTRIBUTION: Final = Contribution()
PAGE_BYTES: Final = 2**23  # packed contributions of a page of a reading in pages


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceFuncSums:
    """One func's exact sums in a slice; `views` counts those that ran it."""

    self_samples: int
    total_samples: int
    self_us: int
    total_us: int
    hidden_us: int
    hidden_total_us: int
    uncertain_us: int
    views: int

    @property
    def has_time(self) -> bool:
        """Returns whether the func is listed: it has JS time, or hidden time that is certain or uncertain."""
        return self.total_us > 0 or self.hidden_us > 0 or self.uncertain_us > 0

    def plus(self, more: "SliceFuncSums") -> "SliceFuncSums":
        """Returns the sums over both slices, which have no view in common."""
        return SliceFuncSums(
            self_samples=self.self_samples + more.self_samples,
            total_samples=self.total_samples + more.total_samples,
            self_us=self.self_us + more.self_us,
            total_us=self.total_us + more.total_us,
            hidden_us=self.hidden_us + more.hidden_us,
            hidden_total_us=self.hidden_total_us + more.hidden_total_us,
            uncertain_us=self.uncertain_us + more.uncertain_us,
            views=self.views + more.views,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceView:
    """One view of a slice: its group and cell, the codes of its dimensions, the parts of its time, its contribution."""

    view_id: UUID
    group_id: int
    cell_id: int
    release: str
    page: str
    codes: tuple[int, ...]
    starts_at: datetime
    grain: int
    traces: int
    is_truncated: bool
    sample_rate: float
    traits: int
    time: TimeParts
    contribution: Contribution

    @property
    def dimensions(self) -> dict[str, str]:
        """The values of its dimensions, by name."""
        return name_codes(self.codes)

    def positions_of(self, ref: FuncRef) -> list[int]:
        """Returns the positions of a function's funcs in the contribution, none if the view did not run it.

        Several positions are copies of the function, as in two bundles. Their totals may include the same samples.
        """
        func, positions = self.contribution.func, []
        for func_id in ref.funcs_in(self.release):
            position = int(np.searchsorted(func, func_id))
            if position < len(func) and func[position] == func_id:
                positions.append(position)
        return positions

    def total_of(self, ref: FuncRef) -> int:
        """Returns a function's total in this view, µs."""
        return sum(self.contribution.total_us[position] for position in self.positions_of(ref))


def select_slice_views(
    slice_: Slice,
    *,
    ref: FuncRef | None = None,
    reading: Reading | None = None,
    keep_funcs: Collection[int] | None = None,
) -> Sequence[SliceView]:
    """Returns the views of a slice, in order of id; with `ref`, those in whose cells that function ran.

    Tags are ignored, because only raw traces have them. If the slice names traces, their views are returned. With
    `keep_funcs`, contributions have only these funcs. One statement. Raises `SliceTooLarge` if there are more views
    than the reading allows.
    """
    reading = reading or Reading.at_once()
    rows = _fetch_within(slice_, reading, ref=ref)
    return [
        view for some in _decode_in_pages(slice_, rows, reading.max_view_funcs) for view in _narrow(some, keep_funcs)
    ]


def _fetch_within(slice_: Slice, reading: Reading, *, ref: FuncRef | None = None) -> Rows:
    most = reading.max_views
    limit = None if most is None else most + 1
    rows = fetch_views(slice_, ref=ref, limit=limit, most_bytes=reading.max_contribution_bytes)
    if most is not None and len(rows) > most:
        raise SliceTooLarge("from", f"The slice has more than {most} views; narrow it, e.g. by from.")
    if rows and rows[-1][0] is None:
        detail = f"The sums of the slice's views take more than {reading.max_contribution_bytes} bytes. {NARROW}"
        raise SliceTooLarge("from", detail)
    return rows


def _decode_in_pages(slice_: Slice, rows: Rows, most_funcs: int | None = None) -> Iterator[list[SliceView]]:
    """Yields views without those that `func_over` excludes: decoded, a view takes up to a hundred times its row."""
    refs = find_func_over(slice_)
    for some in split_rows(rows, most_funcs):
        yield _keep_costly(refs, _decode(some))


def _narrow(views: Iterable[SliceView], keep_funcs: Collection[int] | None) -> Iterator[SliceView]:
    if keep_funcs is None:
        yield from views
        return
    kept = frozenset(keep_funcs)
    for view in views:
        whole = view.contribution
        places = [place for place, func_id in enumerate(whole.func) if func_id in kept]
        columns = {
            column.name: [getattr(whole, column.name)[place] for place in places] for column in fields(Contribution)
        }
        yield replace(view, contribution=Contribution(**columns))


def sample_slice_views(slice_: Slice, ref: FuncRef, *, most: int) -> tuple[Sequence[SliceView], int]:
    """Returns the views of a slice in whose cells a function ran, and their number. Two statements.

    If there are more than `most`, it returns the first in the uniform order, slightly more than `most`. Contributions
    have only that function. The slice must not be fine.
    """
    where, params = where_views(slice_, ref=ref)
    population = _count(f"SELECT COALESCE(sum(c.views), 0)::bigint {FROM_CELLS} WHERE {where}", params)
    rows = fetch_views(slice_, ref=ref, limit=None, below=bound_of_sample(most, population))
    views = [view for some in _decode_in_pages(slice_, rows) for view in _narrow(some, ref.funcs)]
    return views, population


def select_view_times(
    slice_: Slice,
    *,
    order: str,
    params: Mapping[str, Any],  # Any: parameters of a statement
    limit: int | None,
) -> Sequence[SliceView]:
    """Returns the first views of a slice in an order, without their contributions. `order` is over views `v`.

    One statement. The slice must not be fine, but may name views.
    """
    where, view_params = where_views(slice_)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT NULL, {VIEW_COLUMNS} {FROM_VIEWS} WHERE {where} ORDER BY {order} LIMIT %(limit)s",
            {**view_params, **params, "limit": limit},
        )
        return [_read_view(row, NO_CONTRIBUTION) for row in cursor.fetchall()]


def select_views_of(project_id: int, keys: Collection[ViewKey]) -> dict[ViewKey, SliceView]:
    """Returns some views of a project without their contributions. One statement.

    A view id may be in thousands of groups, since senders choose both. Only those that are named are read.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT NULL, {VIEW_COLUMNS}
                FROM unnest(%(views)s::uuid[], %(groups)s::int[]) AS w (view_id, group_id)
                JOIN aggregate_pageview v ON v.project_id = %(project_id)s
                     AND v.view_id = w.view_id AND v.group_id = w.group_id
                JOIN aggregate_cell c ON c.project_id = v.project_id AND c.id = v.cell_id
                JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id""",
            {
                "project_id": project_id,
                "views": [view_id for view_id, _ in keys],
                "groups": [group_id for _, group_id in keys],
            },
        )
        views = [_read_view(row, NO_CONTRIBUTION) for row in cursor.fetchall()]
    return {(view.view_id, view.group_id): view for view in views}


def iter_slice_views(slice_: Slice, reading: Reading, *, page_bytes: int = PAGE_BYTES) -> Iterator[Sequence[SliceView]]:
    """Yields the views of a slice page by page. One statement if the reading is bounded, else one per page.

    Reports to the reading the traces of views that are skipped.
    """
    if reading.max_views is not None:
        yield from _decode_in_pages(slice_, _fetch_within(slice_, reading), reading.max_view_funcs)
        return
    refs = find_func_over(slice_)
    after: ViewKey | None = None
    while rows := fetch_views(slice_, limit=reading.page_views, after=after, most_bytes=page_bytes):
        is_last = len(rows) < reading.page_views and rows[-1][0] is not None
        rows = [row for row in rows if row[0] is not None]  # the others come with the next page
        after = rows[-1][1], rows[-1][2]
        for some in split_rows(rows):
            page = _decode(some)
            kept = _keep_costly(refs, page)
            if passed := sum(view.traces for view in page) - sum(view.traces for view in kept):
                reading.on_traces(passed)
            yield kept
        if is_last:
            return


def count_traces(slice_: Slice) -> int:
    """Returns how many traces a reading of a fine slice looks at, including views that `func_over` excludes."""
    where, params = where_views(slice_)
    return _count(f"SELECT COALESCE(sum(v.traces), 0)::bigint {FROM_VIEWS} WHERE {where}", params)


def count_cell_traces(slice_: Slice) -> int:
    """Returns the number of traces in a slice's cells."""
    where, params = where_slice(slice_)
    return _count(f"SELECT COALESCE(sum(c.traces), 0)::bigint {FROM_CELLS} WHERE {where}", params)


def _count(statement: str, params: dict[str, Any]) -> int:  # Any: parameters of a statement
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def _decode(rows: Rows) -> list[SliceView]:
    contributions = decode_contribution_list([bytes(row[0]) for row in rows])
    return [_read_view(row, contribution) for row, contribution in zip(rows, contributions, strict=True)]


def _read_view(row: tuple[Any, ...], contribution: Contribution) -> SliceView:  # Any: a row as the driver types it
    (
        _,
        view_id,
        group_id,
        cell_id,
        release,
        page,
        starts_at,
        grain,
        traces,
        is_truncated,
        sample_rate,
        traits,
        *numbers,
    ) = row
    return SliceView(
        view_id=view_id,
        group_id=group_id,
        cell_id=cell_id,
        release=release,
        page=page,
        codes=tuple(numbers[: len(DIMENSIONS)]),
        starts_at=starts_at,
        grain=grain,
        traces=traces,
        is_truncated=is_truncated,
        sample_rate=sample_rate,
        traits=traits,
        time=TimeParts(*numbers[len(DIMENSIONS) :]),
        contribution=contribution,
    )


def _keep_costly(refs: Sequence[tuple[FuncRef, int]], views: list[SliceView]) -> list[SliceView]:
    if not refs:
        return views
    return [view for view in views if all(view.total_of(ref) > over_us for ref, over_us in refs)]


def sum_times(views: Iterable[SliceView]) -> TimeParts:
    """Returns the sum of the parts of time of views."""
    time = TimeParts()
    for view in views:
        time.add(view.time)
    return time


def sum_contributions(contributions: Sequence[Contribution]) -> dict[int, SliceFuncSums]:
    """Returns the exact sums of contributions, by func id."""
    if not any(contribution.func for contribution in contributions):
        return {}

    def column(name: str) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        return np.concatenate(
            [np.asarray(getattr(contribution, name), dtype=np.int64) for contribution in contributions]
        )

    func = column("func")
    order = np.argsort(func, kind="stable")
    ids, starts = np.unique(func[order], return_index=True)
    sums = [np.add.reduceat(column(name)[order], starts).tolist() for name in COLUMNS]
    # A view with only hidden time of a func did not run it.
    counts = np.add.reduceat((column("total_samples")[order] > 0).astype(np.int64), starts)
    rows = zip(ids.tolist(), *sums, counts.tolist(), strict=True)
    return {func_id: SliceFuncSums(**dict(zip((*COLUMNS, "views"), row, strict=True))) for func_id, *row in rows}
