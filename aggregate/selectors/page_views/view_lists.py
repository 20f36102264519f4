"""A slice's page views as a list, in several orders and pages, and the distribution of their times.

For a slice of cells, the database sorts the views by the parts of time in their rows. Beyond `VIEW_LIST_MAX_VIEWS` it
sorts those of a uniform sample. Lists by a function's time, and lists of finer slices, use contributions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

import numpy as np
from django.conf import settings

from aggregate.selectors.code.refs import FuncRef, find_ref
from aggregate.selectors.code.symbols import RowId
from aggregate.selectors.page_views.contributions import SliceView
from aggregate.selectors.page_views.fine_sums import select_seen_views
from aggregate.selectors.page_views.samples import select_sampled
from aggregate.selectors.page_views.view_rows import FROM_VIEWS, ViewKey
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from aggregate.sql import select_rows
from profcore.stats.sampling import bound_of_sample, sample_key
from profcore.sums.blobs import decode_contributions

ListMeasure = Literal["js", "hidden", "self", "total"]
ListOrder = Literal["typical", "worst", "newest", "random"]
LIST_MEASURES: Final = ("js", "hidden", "self", "total")
LIST_ORDERS: Final = ("typical", "worst", "newest", "random")
RATE: Final = "coalesce(v.sample_rate, 1.0)"
KEY: Final = "fieldflame_sample_key(v.view_id)"
# Views whose starts are read to find the newest: those of an hour, or of a day once hours are merged.
NEWEST_REACH: Final = 20_000


def _write_since(where: str) -> str:
    """Returns the start, in SQL, of the last bucket that has as many views as are wanted, with all later ones."""
    return f"""COALESCE((SELECT b.starts_at FROM (
    SELECT c.starts_at, sum(sum(c.views)) OVER (ORDER BY c.starts_at DESC) AS views_since
    {FROM_CELLS} WHERE {where} GROUP BY c.starts_at) b
    WHERE b.views_since >= %(reach)s ORDER BY b.starts_at DESC LIMIT 1), '-infinity')"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """The views that are wanted. `by` is `js` or `hidden` time, or with `func_id` that function's `self` or `total`.

    A view is listed if its time is in `[low_us, high_us)`; None is no bound.
    """

    by: ListMeasure = "js"
    order: ListOrder = "typical"
    func_id: RowId | None = None
    low_us: int | None = None
    high_us: int | None = None
    offset: int = 0
    limit: int = 25

    @property
    def is_bounded(self) -> bool:
        """Returns whether the time of views is bounded."""
        return self.low_us is not None or self.high_us is not None

    def has(self, us: int) -> bool:
        """Returns whether a view with this much time is wanted."""
        return (self.low_us is None or us >= self.low_us) and (self.high_us is None or us < self.high_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """The times of views, µs, ascending. `looked_at` of the slice's `population` were looked at.

    With a function, `values_us` has only the views that ran it. If not `is_complete`, rows of some views have expired.
    If `is_mixed`, views have different sampling rates, and each counts once all the same.
    """

    values_us: Sequence[int]
    looked_at: int
    population: int
    is_complete: bool = True
    is_mixed: bool = False

    def percentile_us(self, part: float) -> int | None:
        """Returns the smallest value that this part of the views does not exceed, None without views."""
        count = len(self.values_us)
        return self.values_us[min(max(int(np.ceil(part * count)) - 1, 0), count - 1)] if count else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewPage:
    """One page of a list: the views' keys in their order, each with its time.

    They are from `view_count` views, of `ranked` views that were sorted: fewer than the population if these are a
    uniform sample. `seen` has the views themselves if they had to be read.
    """

    keys: Sequence[tuple[ViewKey, int]]
    view_count: int
    ranked: int
    distribution: Distribution
    seen: dict[ViewKey, SliceView] | None = None


def select_view_page(slice_: Slice, query: ListQuery) -> ViewPage:
    """Returns a page of a slice's views. Raises `SliceError` if a fine slice has too many.

    A slice of cells takes three to five statements, with a function three more. A fine slice takes those of its
    reading.
    """
    ref = None if query.func_id is None else find_ref(slice_.project_id, query.func_id)
    if slice_.is_fine:
        return _page_of_seen(slice_, query, ref)
    if ref is not None:
        return _page_of_sample(slice_, query, ref)
    return _page_of_rows(slice_, query)


def _page_of_rows(slice_: Slice, query: ListQuery) -> ViewPage:
    column = f"v.{query.by}_us"
    population, rows = select_sampled(slice_, f"{column}, {RATE}", most=settings.STATISTICS_MAX_VIEWS)
    spread = _spread_of([row[0] for row in rows], rows, population)
    # The worst views may be among those of which only slow moments were kept.
    wide = slice_.with_slow_views() if query.order == "worst" else slice_
    if population > settings.VIEW_LIST_MAX_VIEWS and (query.is_bounded or query.order in ("typical", "worst")):
        columns = f"v.view_id, v.group_id, {column}, c.starts_at"
        known = population if wide is slice_ else None
        _, rows = select_sampled(wide, columns, most=settings.VIEW_LIST_SAMPLE, population=known)
        return _page_of(slice_.project_id, query, [_Ranked((row[0], row[1]), *row[2:4]) for row in rows], spread)
    where, params = where_slice(wide)
    view_count = population
    if wide is not slice_:
        view_count = _count(f"SELECT coalesce(sum(c.views), 0)::bigint {FROM_CELLS} WHERE {where}", params)
    if query.is_bounded:
        where += f" AND {column} >= %(low)s AND {column} < %(high)s"
        params |= {"low": query.low_us or 0, "high": 2**62 if query.high_us is None else query.high_us}
        view_count = _count(f"SELECT count(*) {FROM_VIEWS} WHERE {where}", params)
    keys = _select_in_order(wide, query, (where, params | {"view_count": view_count}), spread)
    return ViewPage(keys=keys, view_count=view_count, ranked=max(population, view_count), distribution=spread)


def _spread_of(values_us: Iterable[int], rows: Sequence[tuple[Any, ...]], population: int) -> Distribution:
    """Returns the distribution of sampled rows, whose last columns are the rate and whether none have expired."""
    is_mixed = len({row[-2] for row in rows}) > 1
    return Distribution(
        values_us=sorted(values_us),
        looked_at=len(rows),
        population=population,
        is_complete=not rows or bool(rows[0][-1]),
        is_mixed=is_mixed,
    )


def _select_in_order(
    slice_: Slice,
    query: ListQuery,
    condition: tuple[str, dict[str, Any]],  # Any: parameters of a statement
    spread: Distribution,
) -> list[tuple[ViewKey, int]]:
    """Returns one page of the views that meet a condition."""
    where, params = condition
    column = f"v.{query.by}_us"
    reach = query.offset + query.limit
    params |= {"middle": spread.percentile_us(0.5) or 0, "limit": query.limit, "offset": query.offset, "reach": reach}
    if query.order == "newest":
        if not query.is_bounded:
            where += f" AND c.starts_at >= {_write_since(where_slice(slice_)[0])}"
        rows = select_rows(
            f"""SELECT n.view_id, n.group_id, n.took FROM (
                    SELECT v.view_id, v.group_id, {column} AS took, c.starts_at {FROM_VIEWS} WHERE {where}
                    ORDER BY c.starts_at DESC FETCH FIRST %(reach)s ROWS WITH TIES) n LIMIT {NEWEST_REACH}""",
            params,
        )
        took = {(row[0], row[1]): row[2] for row in rows}
        newest = sort_newest(slice_.project_id, list(took))[query.offset : reach]
        return [(key, took[key]) for key in newest]
    if query.order == "random" and params["view_count"]:
        where += f" AND {KEY} <= %(near)s"  # the index has views in this order
        params["near"] = bound_of_sample(reach * spread.population // params["view_count"], spread.population)
    order = {"worst": f"{column} DESC", "typical": f"abs({column} - %(middle)s)", "random": KEY}[query.order]
    rows = select_rows(
        f"""SELECT v.view_id, v.group_id, {column} {FROM_VIEWS} WHERE {where}
            ORDER BY {order}, v.view_id, v.group_id LIMIT %(limit)s OFFSET %(offset)s""",
        params,
    )
    return [((row[0], row[1]), row[2]) for row in rows]


def _page_of_sample(slice_: Slice, query: ListQuery, ref: FuncRef) -> ViewPage:
    """Returns a page by a function's time: of all views of the slice, or of the uniform sample."""
    most = settings.STATISTICS_MAX_VIEWS
    columns = f"v.view_id, v.group_id, v.contribution, c.release, c.starts_at, {RATE}"
    population, rows = select_sampled(slice_, columns, most=most)
    lengths, (func, self_us, total_us) = decode_contributions([bytes(row[2]) for row in rows], column_count=3)
    view_of = np.repeat(np.arange(len(rows)), lengths)
    took_us = total_us if query.by == "total" else self_us
    took: dict[int, int] = {}
    for place in np.flatnonzero(np.isin(func, ref.funcs)).tolist():
        view = int(view_of[place])
        if func[place] in ref.funcs_in(rows[view][3]):
            took[view] = took.get(view, 0) + int(took_us[place])
    spread = _spread_of(took.values(), rows, population)
    ranked = [_Ranked((rows[view][0], rows[view][1]), us, rows[view][4]) for view, us in took.items()]
    return _page_of(slice_.project_id, query, ranked, spread)


def _page_of_seen(slice_: Slice, query: ListQuery, ref: FuncRef | None) -> ViewPage:
    """Returns a page of a fine slice, whose views are all read."""
    seen = select_seen_views(slice_, ref=ref, keep_funcs=ref.funcs if ref else ())
    views = {(view.view_id, view.group_id): view for view in seen.views}
    ranked = []
    for key, view in views.items():
        us = _took(view, query.by, ref)
        if us is not None:
            ranked.append(_Ranked(key, us, view.starts_at))
    rates = {view.sample_rate for view in views.values()}
    spread = Distribution(
        values_us=sorted(row.us for row in ranked),
        looked_at=len(views),
        population=len(views),
        is_mixed=len(rates) > 1,
    )
    page = _page_of(slice_.project_id, query, ranked, spread)
    return replace(page, seen={key: views[key] for key, _ in page.keys})


def _took(view: SliceView, by: ListMeasure, ref: FuncRef | None) -> int | None:
    """Returns a view's time by a measure, None if it did not run the wanted function."""
    if ref is None:
        return view.time.hidden_us if by == "hidden" else view.time.js_us
    places = view.positions_of(ref)
    column = view.contribution.total_us if by == "total" else view.contribution.self_us
    return sum(column[place] for place in places) if places else None


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A view that was read: its time, and the start of its bucket."""

    key: ViewKey
    us: int
    starts_at: datetime


def _page_of(project_id: int, query: ListQuery, ranked: list[_Ranked], spread: Distribution) -> ViewPage:
    middle = spread.percentile_us(0.5) or 0
    kept = [row for row in ranked if query.has(row.us)]
    reach = query.offset + query.limit
    if query.order == "newest":
        kept.sort(key=lambda row: row.starts_at, reverse=True)
        last = kept[:reach][-1:]
        near = [row.key for row in kept if row.starts_at >= last[0].starts_at]
        place = {key: at for at, key in enumerate(sort_newest(project_id, near[:NEWEST_REACH]))}
        kept = sorted(
            (row for row in kept if row.key in place),
            key=lambda row: place[row.key],
        )
    elif query.order == "random":
        kept.sort(key=lambda row: sample_key(row.key[0]))
    else:
        kept.sort(
            key=lambda row: (
                abs(row.us - middle) if query.order == "typical" else -row.us,
                row.key,
            )
        )
    view_count = sum(query.has(row.us) for row in ranked)
    return ViewPage(
        keys=[(row.key, row.us) for row in kept[query.offset : reach]],
        view_count=view_count,
        ranked=len(ranked),
        distribution=spread,
    )


def sort_newest(project_id: int, keys: Sequence[ViewKey]) -> list[ViewKey]:
    """Returns views by their starts, the newest first. One statement."""
    rows = select_rows(
        """SELECT r.view_id, r.group_id FROM unnest(%(views)s::uuid[], %(groups)s::int[]) AS w (view_id, group_id)
           JOIN ingest_tracereceipt r
             ON r.project_id = %(project_id)s AND r.view_id = w.view_id AND r.group_id = w.group_id
           GROUP BY 1, 2 ORDER BY min(r.view_started_at) DESC, 1, 2""",
        {"project_id": project_id, "views": [key[0] for key in keys], "groups": [key[1] for key in keys]},
    )
    return [(row[0], row[1]) for row in rows]


def _count(statement: str, params: dict[str, Any]) -> int:  # Any: as above
    return int(select_rows(statement, params)[0][0])
