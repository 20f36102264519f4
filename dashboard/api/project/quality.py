"""`quality`: the traces received, how they were measured, and in which browsers."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Self

from rest_framework.request import Request

from aggregate.selectors.project.absences import Absences, select_absences
from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.header_costs import select_header_costs
from aggregate.selectors.project.quality import (
    IntervalRow,
    MeasuredRow,
    OwnCost,
    SampledReceipts,
    SnippetCost,
    select_funcs_beyond,
    select_intake_days,
    select_measured,
    select_overflow,
    select_receipts,
    select_rejections,
)
from aggregate.selectors.project.reused_releases import select_reused_release
from dashboard.api.core.answer import Answer, Interval, choices, doc
from dashboard.api.core.parameters import SLICE_PARAMS
from dashboard.api.core.parts import (
    ArrivalsAnswer,
    Population,
    SliceAnswer,
    TimeAnswer,
    TruncatedShare,
    TruncatedViews,
    share_of,
)
from dashboard.api.core.views import ProjectView
from dashboard.web.project_pages import PageTraits
from profcore.stats.header_cost import VitalCost
from profcore.vitals.page_loads import LOAD_VITALS

MAX_DAYS = 10_000  # 27 years


class IntakeDayAnswer(Answer):
    """Traces that arrived in one UTC day, for the whole project."""

    day: date
    folded: int
    pending: int
    rejected: int
    refused: Annotated[int, doc("A post that was refused before it was read counts once.")]


class MeasuredAnswer(Answer):
    """Exact sums of the views of one browser family and device class, one navigation or one SDK; others are null."""

    browser: str | None
    device: str | None
    navigation: str | None
    sdk: str | None
    views: int
    unnamed_views: Annotated[int, doc("Views of the page `(unknown)`.")]
    truncated_views: TruncatedViews
    truncated_share: TruncatedShare
    traces: int
    samples_per_view: float | None
    time_ms: TimeAnswer

    @classmethod
    def of(cls, row: MeasuredRow, /, **values: Any) -> Self:
        """Returns sums of views."""
        share = share_of(row.truncated_views, row.views)
        return super().of(row, truncated_share=share, time_ms=TimeAnswer.of(row.time), **values)


class SampledIntervalAnswer(Answer):
    """Sampled traces for which the browser reported the same interval."""

    browser: str
    device: str
    requested_ms: Annotated[float | None, doc("The requested interval; null if the client did not send it.")]
    effective_ms: Annotated[float, doc("What the browser reports.")]
    measured_ms: Annotated[float | None, doc("Median over traces of each trace's median gap.")]
    measured_p95_ms: float | None
    traces: int
    measured_traces: Annotated[int, doc("Traces that were long enough to measure.")]
    wrong_traces: Annotated[int, doc("Traces whose measured interval is at least 1.25 times the reported one.")]
    disagreeing_traces: Annotated[
        int,
        doc(
            "Traces whose samples disagree with the reported interval by more than a factor of 2. They are weighed by "
            "the interval that they show."
        ),
    ]

    @classmethod
    def of(cls, row: IntervalRow, /, **values: Any) -> Self:
        """Returns the traces of one interval."""
        counts = {f"{name}_traces": getattr(row, name) for name in ("measured", "wrong", "disagreeing")}
        p95_ms = None if row.high_us is None else row.high_us / 1000
        return super().of(row, measured_p95_ms=p95_ms, **counts, **values)


class IntervalDisagreementAnswer(Answer):
    """Sampled traces that are weighed by the interval that their samples show, not by the reported one."""

    traces: int
    share: Annotated[float | None, doc("Of all sampled traces; null without any.")]


class IsolationAnswer(Answer):
    yes: int
    no: int
    unknown: int


class RateCountAnswer(Answer):
    sample_rate: float
    traces: int


class SnippetCostAnswer(Answer):
    """The main-thread time of the snippet itself per view, over the views whose senders told it."""

    views: int
    median_ms: float
    p95_ms: float

    @classmethod
    def of(cls, cost: SnippetCost, /, **values: Any) -> Self:
        """Returns what senders told."""
        return super().of(cost, p95_ms=cost.high_us / 1000, **values)


class OwnCostAnswer(Answer):
    """The profiler's own time per view, as it was folded: of the browser's profiler, and of the snippet."""

    device: Annotated[str | None, doc("Null for all views.")]
    views: int
    median_ms: float
    p95_ms: float
    share: Annotated[float | None, doc("Of script, hidden and profiler time; null without any.")]

    @classmethod
    def of(cls, cost: OwnCost, /, **values: Any) -> Self:
        """Returns the own cost of views."""
        return super().of(cost, p95_ms=cost.high_us / 1000, **values)


class SampledReceiptsAnswer(Answer):
    """Facts from the receipts of a uniform sample of views. Counts are traces."""

    views: int
    population: Population
    traces: int
    interval_disagrees: IntervalDisagreementAnswer
    intervals: list[SampledIntervalAnswer]
    sdk_measured_ms: Annotated[Mapping[str, float], doc("Median over traces of their measured interval, by SDK.")]
    isolated: Annotated[IsolationAnswer, doc("Cross-origin isolated pages.")]
    sample_rates: list[RateCountAnswer]
    end_reasons: Mapping[str, int]
    body_bytes: Annotated[float | None, doc("Median, expanded.")]
    own_cost: Annotated[list[OwnCostAnswer], doc("Of all views, then by device class; most views first.")]
    snippet: Annotated[
        SnippetCostAnswer | None, doc("By the sender’s clock, around its synchronous calls. Null if none told it.")
    ]
    snippet_sampled: Annotated[
        SnippetCostAnswer | None, doc("By samples in its own code, as it counts them. Null if none told it.")
    ]

    @classmethod
    def of(cls, receipts: SampledReceipts, /, **values: Any) -> Self:
        """Returns what a sample of receipts says."""
        traces, isolated = receipts.traces, receipts.isolated
        clock, sampled = receipts.snippet, receipts.snippet_sampled
        return super().of(
            receipts,
            interval_disagrees=IntervalDisagreementAnswer(receipts.disagreeing, share_of(receipts.disagreeing, traces)),
            intervals=[SampledIntervalAnswer.of(row) for row in receipts.intervals],
            sdk_measured_ms={sdk: us / 1000 for sdk, us in receipts.sdk_intervals.items()},
            isolated=IsolationAnswer(*(isolated.get(key, 0) for key in (True, False, None))),
            sample_rates=[RateCountAnswer(rate, count) for rate, count in receipts.sample_rates.items()],
            own_cost=[OwnCostAnswer.of(cost) for cost in receipts.own_costs],
            snippet=clock and SnippetCostAnswer.of(clock),
            snippet_sampled=sampled and SnippetCostAnswer.of(sampled),
            **values,
        )


class OverflowAnswer(Answer):
    """Page views beyond the bounds on releases and pages."""

    views: Annotated[int, doc('Views that count as "(other)": of that release, that page, or both.')]
    without_release: Annotated[int, doc('The part whose release counts as "(other)" too.')]


class ReusedReleaseAnswer(Answer):
    """A release name that two builds have, by the scripts of a sample of views."""

    release: str
    page: Annotated[str, doc("A page that shows it.")]
    earlier: Annotated[str, doc("File name of a script in the earlier build.")]
    later: Annotated[str, doc("File name of the same script in the later build: with another content hash.")]


class AbsentReasonAnswer(Answer):
    """Views that recorded nothing for one reason."""

    reason: str
    status: Annotated[int | None, doc("What the ingest endpoint answered, with the reason `status`.")]
    reports: int
    views: int


class AbsentBrowserAnswer(Answer):
    browser: str
    reports: int
    views: int


class AbsentPageAnswer(Answer):
    page: str
    reports: int
    views: int


class AbsentAnswer(Answer):
    """Page views that recorded nothing, by UTC day, page and browser. `views` are estimated from `reports`."""

    reports: int
    views: int
    recorded_views: Annotated[
        int | None, doc("The views that the recorded ones of the same days, pages and browsers stand for.")
    ]
    share: Annotated[float | None, doc("Of all page views with the snippet.")]
    since: Annotated[date | None, doc("The first day that has such views.")]
    by_reason: list[AbsentReasonAnswer]
    by_browser: list[AbsentBrowserAnswer]
    by_page: Annotated[list[AbsentPageAnswer], doc("The 50 pages with the most such views.")]
    page_count: int

    @classmethod
    def of(cls, absences: Absences, /, **values: Any) -> Self:
        """Returns the views that recorded nothing."""
        return super().of(
            absences,
            recorded_views=absences.recorded,
            since=absences.first_on,
            by_reason=[AbsentReasonAnswer.of(row) for row in absences.by_reason],
            by_browser=[AbsentBrowserAnswer(row.name, row.reports, row.views) for row in absences.by_browser],
            by_page=[AbsentPageAnswer(row.name, row.reports, row.views) for row in absences.by_page],
            **values,
        )


class HeaderCostAnswer(Answer):
    """How much later one vital comes on pages with the header than on pages without, of one draw."""

    vital: Annotated[str, choices(LOAD_VITALS)]
    loads: Annotated[int, doc("With the header.")]
    loads_without: int
    p75_ms: Annotated[float, doc("With the header.")]
    p75_without_ms: float
    later: Annotated[
        float | None, doc("Ratio of typical times (geometric means), less 1; null if a side has fewer than 100 loads.")
    ]
    later_ci95: Interval
    proposed_share: Annotated[
        float | None, doc("Share of pages at which visitors together lose at most 1 %; null if they do not lose more.")
    ]

    @classmethod
    def of(cls, cost: VitalCost, /, **values: Any) -> Self:
        """Returns the cost by one vital."""
        (loads, loads_without), (p75_ms, p75_without_ms) = cost.loads, cost.p75_ms
        ci95 = cost.later.ci95 if cost.later else None
        return cls(
            vital=cost.vital,
            loads=loads,
            loads_without=loads_without,
            p75_ms=p75_ms,
            p75_without_ms=p75_without_ms,
            later=cost.later.value if cost.later else None,
            later_ci95=[ci95.low, ci95.high] if ci95 else None,
            proposed_share=cost.proposed_share,
            **values,
        )


class QualityAnswer(Answer):
    """How reliable the other answers are."""

    slice: SliceAnswer
    arrivals: ArrivalsAnswer
    rejected_by_reason: Annotated[Mapping[str, int], doc("Of the last 10,000 rejected traces in the slice's time.")]
    days: list[IntakeDayAnswer]
    whole: MeasuredAnswer
    by_browser: Annotated[list[MeasuredAnswer], doc("By browser family and device class; most views first.")]
    by_navigation: Annotated[list[MeasuredAnswer], doc("By how the views began; most views first.")]
    by_sdk: Annotated[list[MeasuredAnswer], doc("By what recorded the views; most views first.")]
    overflow: OverflowAnswer
    functions_beyond: Annotated[
        int, doc('How often a new function was beyond the room of its day, and counted as "(other)".')
    ]
    reused_release: Annotated[
        ReusedReleaseAnswer | None, doc("Null if no script's content hash was seen to change within a release.")
    ]
    absent: Annotated[AbsentAnswer, doc("Releases and devices of these views are not known, and days are whole.")]
    header_costs: Annotated[
        list[HeaderCostAnswer], doc("By whole UTC days, of all pages; empty without the experiment.")
    ]
    sampled: SampledReceiptsAnswer


class QualityView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = SLICE_PARAMS

    def get(self, request: Request, slug: str) -> QualityAnswer:
        """Reports traces by state, how they were measured, and in which browsers."""
        slice_ = self.resolve_slice()
        measured = select_measured(slice_)
        reused = select_reused_release(slice_, measured.whole.views)
        return QualityAnswer(
            slice=SliceAnswer.of(slice_),
            arrivals=ArrivalsAnswer.of(select_arrivals(slice_)),
            rejected_by_reason=select_rejections(slice_).by_reason,
            days=[IntakeDayAnswer.of(day) for day in select_intake_days(slice_, limit=MAX_DAYS)],
            whole=MeasuredAnswer.of(measured.whole),
            by_browser=[MeasuredAnswer.of(row) for row in measured.by_browser],
            by_navigation=[MeasuredAnswer.of(row) for row in measured.by_navigation],
            by_sdk=[MeasuredAnswer.of(row) for row in measured.by_sdk],
            overflow=OverflowAnswer.of(select_overflow(slice_)),
            functions_beyond=select_funcs_beyond(slice_),
            reused_release=None if reused is None else ReusedReleaseAnswer.of(reused),
            absent=AbsentAnswer.of(select_absences(slice_)),
            header_costs=[HeaderCostAnswer.of(cost) for cost in select_header_costs(slice_)],
            sampled=SampledReceiptsAnswer.of(select_receipts(slice_, measured.whole.views)),
        )
