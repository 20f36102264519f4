"""Uniform samples of a slice's views, with the facts that statistics need."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush, heapreplace
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.conf import settings

from aggregate.selectors.code.rows import RowOf
from aggregate.selectors.code.symbols import RowId
from aggregate.selectors.page_views.contributions import SliceView
from aggregate.selectors.page_views.decoded import COLUMNS, decode_sample
from aggregate.selectors.page_views.tag_values import select_tag_values
from aggregate.selectors.slice.binary import open_binary
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from profcore.stats.sampling import LAST_KEY, bound_of_sample, sample_key
from profcore.stats.strata import DEVICE_CODE, HOUR, START_CODE, device_code, start_code, text_code
from profcore.stats.views import (
    SampledFuncs,
    ViewColumns,
    ViewSample,
    group_funcs,
    sample_of,
    sample_of_columns,
    sample_of_table,
    split_funcs,
)
from profcore.sums.blobs import decode_contributions
from profcore.trace.dimensions import CACHE, DEVICE, DIMENSIONS, NAVIGATION, SDK
from profcore.trace.weights import TimeParts

DEVICE_AT, SDK_AT, NAVIGATION_AT, CACHE_AT = (
    DIMENSIONS.index(dimension) for dimension in (DEVICE, SDK, NAVIGATION, CACHE)
)
FACTS: Final = """v.js_us, v.hidden_us, c.device, coalesce(v.sample_rate, 1.0), c.release, c.start, c.page,
       c.hour, v.traits"""


def _write_sampled(where: str, columns: str, more: str) -> str:
    """Returns the statement for every view of a slice with a key below the bound, in the uniform order.

    Views expire by the start of their cell: if the oldest cell has views left, all cells have theirs.
    """
    return f"""
WITH c AS MATERIALIZED (
    SELECT c.project_id, c.id, c.device_class, {DEVICE_CODE} AS device, {START_CODE} AS start, {HOUR} AS hour,
           c.starts_at, c.views, g.release, g.page
    {FROM_CELLS} WHERE {where}),
oldest AS (SELECT c.id FROM c WHERE c.views > 0 ORDER BY c.starts_at, c.id LIMIT 1)
SELECT {columns}, EXISTS (SELECT FROM aggregate_pageview o WHERE o.project_id = %(project_id)s
                            AND o.cell_id = (SELECT id FROM oldest)) AS is_complete
FROM c JOIN aggregate_pageview v ON v.project_id = %(project_id)s AND v.cell_id = c.id
     AND fieldflame_sample_key(v.view_id) <= %(below)s {more}
ORDER BY fieldflame_sample_key(v.view_id), v.view_id, v.group_id LIMIT %(most)s
"""


def _write_sampled_by(where: str, value: str) -> str:
    """Returns the same for each value of a dimension, up to a bound of its own.

    LATERAL, with OFFSET to keep the planner from flattening it: the planner does not know how few views lie below a
    bound, and would hash the id of every view (1.6 s at a million views).
    """
    return f"""
WITH c AS MATERIALIZED (
    SELECT c.project_id, c.id, c.device_class, {DEVICE_CODE} AS device, {START_CODE} AS start, {HOUR} AS hour,
           c.starts_at, c.views, g.release, g.page, ({value})::text AS value
    {FROM_CELLS} WHERE {where}),
oldest AS (SELECT DISTINCT ON (c.value) c.value, c.id FROM c WHERE c.views > 0 ORDER BY c.value, c.starts_at, c.id),
w AS MATERIALIZED (
    SELECT w.value, w.below, EXISTS (SELECT FROM aggregate_pageview o
           WHERE o.project_id = %(project_id)s AND o.cell_id = oldest.id) AS is_complete
    FROM unnest(%(values)s::text[], %(below)s::bigint[]) AS w (value, below) JOIN oldest USING (value))
SELECT c.value, w.is_complete, v.contribution, {FACTS}
FROM w JOIN c USING (value) CROSS JOIN LATERAL (
    SELECT v.* FROM aggregate_pageview v WHERE v.project_id = %(project_id)s AND v.cell_id = c.id
        AND fieldflame_sample_key(v.view_id) <= w.below OFFSET 0) AS v
ORDER BY fieldflame_sample_key(v.view_id), v.view_id, v.group_id
"""


def select_view_sample(
    slice_: Slice, *, most: int | None = None, population: int | None = None, tag: str = ""
) -> ViewSample:
    """Returns the views of a slice as a sample: all of them up to `most`, else the first in the uniform order.

    `population` is the number of views, if the caller knows it; else they are counted. The sample is in order of sample
    key. Views whose rows have expired are missing. One or two statements.

    With the prefix of a tag, facts have each view's value of that tag, which are read from at most `STRATIFY_MAX_VIEWS`
    raw traces. Raises `SliceError` if these have expired.
    """
    most = settings.STATISTICS_MAX_VIEWS if most is None else most
    most = min(most, settings.STRATIFY_MAX_VIEWS) if tag else most
    ids = ", v.view_id, v.group_id" if tag else ""
    population, rows = select_sampled(slice_, f"v.contribution, {FACTS}{ids}", most=most, population=population)
    lengths, columns = decode_sample([row[0] for row in rows])
    view_columns = _facts_of(rows)
    if tag:
        values = select_tag_values(slice_.project_id, [(row[10], row[11]) for row in rows], tag)
        view_columns = replace(view_columns, tag=np.array([text_code(value) for value in values], dtype=np.int64))
    sample = sample_of_columns(lengths, columns, view_columns, max(population, len(rows)))
    is_complete = len(rows) >= min(population, most) and (not rows or rows[0][-1])
    return replace(sample, is_complete=is_complete)


def select_sampled_views(slice_: Slice, *, most: int, population: int) -> list[tuple[UUID, int]]:
    """Returns (view id, group id) of the views that `select_view_sample` takes, without further facts."""
    _, rows = select_sampled(slice_, "v.view_id, v.group_id", most=most, population=population)
    return [(row[0], row[1]) for row in rows]


def select_samples_by(
    slice_: Slice, column: str, populations: Mapping[str, int], *, most: int
) -> dict[str, ViewSample]:
    """Returns a sample of at most `most` views for each value of a column of cells `c` or groups `g`, by value.

    `populations` has the wanted values, as text, and the number of views of each. One statement.
    """
    where, params = where_slice(slice_)
    below = [bound_of_sample(most, population) for population in populations.values()]
    rows_of_value: dict[str, list[tuple[Any, ...]]] = {value: [] for value in populations}
    with open_binary() as cursor:
        cursor.execute(_write_sampled_by(where, column), {**params, "values": list(populations), "below": below})
        for value, *row in cursor:
            if len(rows_of_value[value]) < most:
                rows_of_value[value].append(tuple(row))
    return {
        value: _sample_rows([row[1:] for row in rows], populations[value], most, not rows or rows[0][0])
        for value, rows in rows_of_value.items()
    }


def _sample_rows(
    rows: Sequence[tuple[Any, ...]], population: int, most: int, has_oldest: bool
) -> ViewSample:  # Any: rows as the driver types them
    lengths, columns = decode_contributions([row[0] for row in rows], column_count=COLUMNS)
    sample = sample_of_columns(lengths, columns, _facts_of(rows), max(population, len(rows)))
    return replace(sample, is_complete=len(rows) >= min(population, most) and has_oldest)


def select_marker_sample(slice_: Slice, *, most: int | None = None) -> ViewSample:
    """Returns the views of a slice that have markers, as a sample whose funcs are indexes of `MARKERS`.

    A marker's self time is that of the samples with the marker; shares are of all marked time. `population` counts only
    the views of the sample: only a look at all views would give the number of those with markers.
    """
    _, rows = select_sampled(slice_, f"v.marker_us, {FACTS}", most=most, more="AND v.marker_us IS NOT NULL")
    return sample_of_table([row[0] for row in rows], _facts_of(rows))


def select_sampled(
    slice_: Slice, columns: str, *, most: int | None, population: int | None = None, more: str = ""
) -> tuple[int, list[tuple[Any, ...]]]:  # Any: rows as the driver types them
    """Returns the number of a slice's views, and some columns of the first ones in the uniform order, at most `most`.

    `columns`, and the condition `more`, are over views `v` and their cells `c`, which have their release. The last
    column of each row says whether no views have expired. One statement, or two if the population is not given.
    """
    most = settings.STATISTICS_MAX_VIEWS if most is None else most
    where, params = where_slice(slice_)
    with open_binary() as cursor:
        if population is None:
            cursor.execute(f"SELECT coalesce(sum(c.views), 0)::bigint {FROM_CELLS} WHERE {where}", params)
            row = cursor.fetchone()
            population = int(row[0]) if row else 0
        statement = _write_sampled(where, columns, more)
        below = bound_of_sample(most, population)
        while True:
            cursor.execute(statement, {**params, "below": below, "most": most})
            rows = cursor.fetchall()
            if below >= LAST_KEY or len(rows) >= most:
                return population, rows
            # Some rows have expired, are of another kind, or lie above the bound by chance: look further.
            below = min(LAST_KEY, below * max(2, 2 * most // max(len(rows), 1)))


def _facts_of(rows: Sequence[tuple[Any, ...]]) -> ViewColumns:  # Any: as above
    js_us, hidden_us, device, rate, release, start, page, hour, traits = (
        [row[at] for row in rows] for at in range(1, 10)
    )
    return ViewColumns.of(
        js_us,
        hidden_us,
        device,
        rate,
        release,
        start=start,
        page=[text_code(name) for name in page],
        hour=hour,
        traits=traits,
        page_names=name_pages(page),
    )


def name_pages(pages: Iterable[str]) -> dict[int, str]:
    """Returns the distinct pages by code."""
    return {text_code(page): page for page in set(pages)}


def sum_sample(
    sample: ViewSample, row_of: RowOf, numbers: Mapping[RowId, int], *, with_totals: bool = False
) -> ViewSample:
    """Returns a sample with its funcs summed up in rows, by the number of each row; other funcs are one more row.

    With `with_totals`, for functions, the sample has totals, except of a function of which a view ran two copies.
    """
    rest = len(numbers)
    if row_of.by_pair:
        sample, pairs = split_funcs(sample)
    else:
        pairs = [("", func_id) for func_id in sample.func_ids.tolist()]
    rows = [row_of.of(release, func_id) for release, func_id in pairs]
    groups = [rest if row is None else numbers.get(row, rest) for row in rows]
    return group_funcs(sample, groups, known_totals_alone=with_totals)


class ViewSampler:
    """Keeps the views that are first in the uniform order, of all views added: at most `size` at any time.

    With `most_funcs`, fewer if their contributions have more funcs together. The first views of fewer are a uniform
    sample too.
    """

    def __init__(self, size: int, *, most_funcs: int | None = None) -> None:
        self.size = size
        self.most_funcs = most_funcs
        self.funcs = 0
        self.seen = 0
        # The last view in the uniform order is on top.
        self._heap: list[tuple[int, int, SliceView, TimeParts, SampledFuncs]] = []

    def add(self, view: SliceView, time: TimeParts, contribution: SampledFuncs) -> None:
        """Takes a view into account; `time` and `contribution` are its part in the slice."""
        self.seen += 1
        # Ties are broken by the order in which views are added, which is that of their ids.
        row = (-sample_key(view.view_id), -self.seen, view, time, contribution)
        if len(self._heap) < self.size:
            heappush(self._heap, row)
        elif row > self._heap[0]:
            self.funcs -= len(heapreplace(self._heap, row)[-1].func)
        else:
            return
        self.funcs += len(contribution.func)
        while self.most_funcs is not None and self.funcs > self.most_funcs and len(self._heap) > 1:
            self.funcs -= len(heappop(self._heap)[-1].func)
            self.size = len(self._heap)

    def sample(self, id_of: Sequence[int] | None = None) -> ViewSample:
        """Returns the sample of the views added so far. `id_of` maps the contributions' numbers to func ids."""
        rows = sorted(self._heap, reverse=True)
        view_columns = ViewColumns.of(
            [time.js_us for _, _, _, time, _ in rows],
            [time.hidden_us for _, _, _, time, _ in rows],
            [device_code(view.codes[DEVICE_AT], view.codes[SDK_AT]) for _, _, view, _, _ in rows],
            [view.sample_rate for _, _, view, _, _ in rows],
            [view.release for _, _, view, _, _ in rows],
            start=[start_code(view.codes[NAVIGATION_AT], view.codes[CACHE_AT]) for _, _, view, _, _ in rows],
            page=[text_code(view.page) for _, _, view, _, _ in rows],
            hour=[int(view.starts_at.timestamp()) // 3_600 for _, _, view, _, _ in rows],
            traits=[view.traits for _, _, view, _, _ in rows],
            page_names=name_pages(view.page for _, _, view, _, _ in rows),
        )
        contributions = [contribution for *_, contribution in rows]
        return sample_of(contributions, view_columns, population=self.seen, id_of=id_of)
