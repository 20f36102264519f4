"""The cost of one function per page view: over a slice, or by a dimension of it, each with its uncertainty.

Sums are exact, from cells or views. A sample of the views of each part says how much views differ.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from aggregate.selectors.code.refs import FuncRef
from aggregate.selectors.functions.breakdown import (
    EXPRESSIONS,
    VALUES_OF_CODES,
    WHOLE,
    FunctionBreakdownRow,
    count_breakdown,
    sum_views,
    value_of,
)
from aggregate.selectors.page_views.contributions import SliceView
from aggregate.selectors.page_views.fine_sums import select_seen_views
from aggregate.selectors.page_views.samples import ViewSampler, select_samples_by, select_view_sample
from aggregate.selectors.slice.slices import Slice
from profcore.stats.summaries import FuncSummary, KnownSums, Summary, summarise
from profcore.stats.views import Measure, ViewSample, pick_funcs

# Views that a part's spread is taken from. With fewer, intervals around exact means are too narrow
# (docs/statistics.md).
PART_VIEWS: Final = 400
US_PER_MS: Final = 1_000
SUM_OF: Final[Mapping[Measure, Callable[[FunctionBreakdownRow], int]]] = {
    "self": lambda row: row.self_us,
    "total": lambda row: row.total_us,
    "hidden": lambda row: row.hidden_us,
    "self+hidden": lambda row: row.self_us + row.hidden_us,
}


@dataclass(frozen=True, slots=True)
class FuncCost:
    """A function in one part of a slice: its exact sums, and the estimates from the part's views by measure.

    A summary is missing for a measure that the sample does not support: totals of a function with two copies in a
    release. Single traces have no summaries, since they are parts of views.
    """

    sums: FunctionBreakdownRow
    summaries: Mapping[Measure, Summary]

    @property
    def summary(self) -> Summary | None:
        """Any of the summaries. It says how many views were looked at, and whether they are too few."""
        return next(iter(self.summaries.values()), None)

    @property
    def is_too_few(self) -> bool:
        """Returns whether there are too few views for anything except sums."""
        return self.summary is None or self.summary.is_too_few

    def estimate(self, measure: Measure) -> FuncSummary | None:
        """Returns the estimates by a measure, None if there are none or if no view looked at had such time."""
        summary = self.summaries.get(measure)
        return summary.functions[0] if summary and summary.functions else None

    def ms_per_view(self, measure: Measure) -> float | None:
        """Returns ms per page view of the part, None if the recorded sums say nothing about all users.

        That is so if sample rates differ and no view looked at ran the function, or if samples may count twice.
        """
        if estimate := self.estimate(measure):
            return estimate.ms_per_view.value
        if self.summary is not None and (self.summary.is_weighted or measure not in self.summaries):
            return None
        return SUM_OF[measure](self.sums) / US_PER_MS / self.sums.views

    def share(self, measure: Measure) -> float | None:
        """Returns the function's share of all time of that kind, None as above and if there is no such time."""
        if (estimate := self.estimate(measure)) and estimate.share:
            return estimate.share.value
        whole_us = _whole_us(self.sums, measure)
        return SUM_OF[measure](self.sums) / whole_us if whole_us and self.ms_per_view(measure) is not None else None


@dataclass(frozen=True, slots=True)
class FuncCosts:
    """A function by a dimension; `row_count` includes rows beyond the limit."""

    source: str
    rows: Sequence[FuncCost]
    row_count: int


def select_costs(
    slice_: Slice,
    ref: FuncRef,
    by: str | None,
    *,
    measures: Sequence[Measure],
    values: Sequence[str] | None = None,
    limit: int | None = None,
) -> FuncCosts:
    """Returns a function's costs by a key of `EXPRESSIONS`, or in one row over the whole slice.

    `values` chooses rows, in its order. Without it, rows come as in a breakdown: the first `limit`, or the last ones if
    they are days. Two statements; a fine slice takes those of its views, which are read at once. Raises `SliceError`.
    """
    views: Sequence[SliceView] | None = None
    if slice_.is_fine:
        seen = select_seen_views(slice_, keep_funcs=ref.funcs)
        views, source, rows = seen.views, seen.source, sum_views(seen.views, ref, by)
    else:
        breakdown = count_breakdown(slice_, ref, by)
        source, rows = breakdown.source, breakdown.rows
    row_of_value = {row.value: row for row in rows}
    cut = rows[-limit:] if by == "day" and limit else rows[:limit]
    chosen = cut if values is None else [row_of_value[value] for value in values if value in row_of_value]
    if slice_.traces:
        samples: Mapping[str, ViewSample] = {}
    elif views is not None:
        samples = _sample_views(views, by, {row.value for row in chosen})
    else:
        samples = _select_samples(slice_, by, chosen)
    costs = [FuncCost(row, _summarise(samples.get(row.value), row, ref, measures)) for row in chosen]
    return FuncCosts(source, costs, len(rows))


def _select_samples(slice_: Slice, by: str | None, rows: Sequence[FunctionBreakdownRow]) -> Mapping[str, ViewSample]:
    if not rows:
        return {}
    if by is None:
        most = settings.TABLE_STATISTICS_MAX_VIEWS
        return {WHOLE: select_view_sample(slice_, most=most, population=rows[0].views)}
    values = VALUES_OF_CODES.get(by)
    key_of = {row.value: str(values.index(row.value)) if values else row.value for row in rows}
    populations = {key_of[row.value]: row.views for row in rows}
    samples = select_samples_by(slice_, EXPRESSIONS[by], populations, most=PART_VIEWS)
    return {value: samples[key] for value, key in key_of.items()}


def _sample_views(views: Sequence[SliceView], by: str | None, wanted: set[str]) -> Mapping[str, ViewSample]:
    most = settings.TABLE_STATISTICS_MAX_VIEWS if by is None else PART_VIEWS
    samplers = {value: ViewSampler(most) for value in wanted}
    for view in views:
        if (value := value_of(view, by)) in samplers:
            samplers[value].add(view, view.time, view.contribution)
    return {value: sampler.sample() for value, sampler in samplers.items()}


def _summarise(
    sample: ViewSample | None, row: FunctionBreakdownRow, ref: FuncRef, measures: Sequence[Measure]
) -> dict[Measure, Summary]:
    if sample is None:
        return {}
    picked = pick_funcs(sample, ref.pairs if ref.pairs is not None else {(None, func) for func in ref.funcs})
    return {
        measure: summarise(picked, measure, known=KnownSums({0: SUM_OF[measure](row)}, _whole_us(row, measure)))
        for measure in measures
        if picked.has_totals or measure != "total"
    }


def _whole_us(row: FunctionBreakdownRow, measure: Measure) -> int:
    """Returns the time that a share by a measure refers to."""
    return {"hidden": row.slice_hidden_us, "self+hidden": row.slice_js_us + row.slice_hidden_us}.get(
        measure, row.slice_js_us
    )
