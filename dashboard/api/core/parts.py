"""The parts that several answers have: the slice, functions, times and statistics."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from msgspec import UNSET, UnsetType
from msgspec import field as wire

from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.slice.slices import Slice, format_instant
from dashboard.api.core.answer import Answer, Colour, InstantText, Interval, choices, doc, with_dimensions
from dashboard.web.params import MEASURES
from profcore.stats.comparison import Difference
from profcore.stats.summaries import FuncSummary
from profcore.trace.dimensions import DIMENSIONS

Measure = Annotated[str, choices(MEASURES)]
SumsSource = Annotated[str, doc("Where the sums come from: cells, contributions or raw.")]
IsGroup = Annotated[bool, doc("Whether a display rule shows several functions as this one.")]
TruncatedViews = Annotated[int, doc("Views that were recorded only in part. Their sums are low.")]
TruncatedShare = Annotated[float | None, doc("truncated_views / views, 0 to 1.")]
EffectiveViews = Annotated[float, doc("The number of equally weighted views that would be as precise.")]
Population = Annotated[int, doc("Views of the slice.")]
ReadViews = Annotated[int, doc("Views read: all, or a uniform sample.")]
UsedInterval = Annotated[
    float,
    doc("The interval that its samples are weighed by: the reported one, unless the samples disagree with it."),
]


class ErrorAnswer(Answer):
    detail: str
    field: Annotated[str, doc("The parameter it is about.")] | UnsetType = UNSET
    job_kind: Annotated[str, doc("The kind of job that can answer for so large a slice.")] | UnsetType = UNSET


class RangeAnswer(Answer):
    """One range of time; null means no bound."""

    from_: InstantText | None = wire(name="from")
    to: InstantText | None


class SliceStart(Answer):
    release: Sequence[str]
    page: Sequence[str]
    from_: Annotated[InstantText | None, doc("The earliest start.")] = wire(name="from")
    to: Annotated[InstantText | None, doc("The latest end, exclusive.")]
    ranges: Annotated[list[RangeAnswer], doc("Each pair of from and to.")]


class SliceAnswer(with_dimensions(SliceStart, Sequence[str])):  # type: ignore[misc]  # a base made by a function
    """The slice as it was read. Empty lists and nulls mean all. Times are rounded outwards to buckets."""

    view: list[str]
    trace: list[str]
    tag: Annotated[list[str], doc("key:value")]
    func_over: Annotated[list[str], doc("function id:ms")]

    @classmethod
    def of(cls, slice_: Slice, /, **values: Any) -> Self:
        """Returns a slice as it was read."""
        return cls(
            release=slice_.releases,
            page=slice_.pages,
            from_=write_instant(slice_.from_at),
            to=write_instant(slice_.to_at),
            ranges=[RangeAnswer(write_instant(start), write_instant(end)) for start, end in slice_.ranges],
            **{dimension.name: slice_.values(dimension.name) for dimension in DIMENSIONS},
            view=[str(view) for view in slice_.views],
            trace=[str(trace) for trace in slice_.traces],
            tag=[f"{key}:{value}" for key, value in slice_.tags],
            func_over=[f"{func}:{us / 1000:.15g}" for func, us in slice_.func_over],
            **values,
        )


class TimeAnswer(Answer):
    """The parts of time, ms: js + hidden + engine + idle + unobserved + profiler = span."""

    js: float
    hidden: float
    engine: Annotated[
        float,
        doc("Style, layout, paint and parsing, at least: known only from long animation frames; 0 without them."),
    ]
    idle: float
    unobserved: float
    profiler: float
    span: float


class DisplayAnswer(Answer):
    """How many display rules were applied. `display=none` asks for functions as they are stored."""

    rules: Annotated[int, doc("Number of rules applied; 0 with display=none.")]


class OriginalAnswer(Answer):
    """Where the function is defined by the source map of its newest release. Line and column are 1-based."""

    source: str
    line: int
    column: int
    name: Annotated[str | None, doc("null for an anonymous function.")]
    package: str | None

    @classmethod
    def of_func(cls, row: FunctionRow) -> Self | None:
        """Returns where a function is defined, None if no source map says it."""
        if row.mapped is None:
            return None
        source, line, column, name, *_ = row.mapped.original
        return cls(source, line, column, name, row.mapped.package)


class PlaceAnswer(Answer):
    """Which function or group it is, and where it is in the code."""

    id: str
    name: Annotated[str, doc("The name on the wire, repaired.")]
    label: Annotated[str, doc("What to show.")]
    uri: str | None
    line: int | None
    column: int | None
    original: OriginalAnswer | None


class FuncAnswer(PlaceAnswer):
    """Identifies a function, without sums."""

    category: str | None
    is_group: IsGroup
    colour: Colour

    @classmethod
    def of(cls, row: FunctionRow, /, **values: Any) -> Self:
        """Returns a function with values of subclasses. Written out: an answer may have 10,000 of them."""
        return cls(
            id=str(row.id),
            name=row.name,
            label=row.label,
            uri=row.uri,
            line=row.line,
            column=row.column,
            original=OriginalAnswer.of_func(row),
            category=row.category,
            is_group=row.is_made,
            colour=row.display.colour if row.display else None,
            **values,
        )


class RenamedFromAnswer(Answer):
    """A function of the base that has the same text, except for its name."""

    id: str
    label: str


class ChangedFuncAnswer(PlaceAnswer):
    """A function of a comparison."""

    renamed_from: Annotated[
        RenamedFromAnswer | None, doc("What the base calls it, if it was only renamed; null otherwise.")
    ]

    @classmethod
    def of_difference(cls, func: FunctionRow, difference: Difference, **values: Any) -> Self:
        """Returns how a function changed, with what the base calls it if it was only renamed."""
        old = func.renamed_from
        values |= {name: getattr(func, name) for name in ("name", "label", "uri", "line", "column")}
        values |= {"id": str(func.id), "original": OriginalAnswer.of_func(func)}
        return cls.of(difference, renamed_from=old and RenamedFromAnswer(str(old.id), old.label), **values)


class ArrivalsAnswer(Answer):
    """What arrived in the slice's time, for the whole project: refused traces are not stored, only counted."""

    received: int
    refused: Annotated[int, doc("Not accepted at the endpoint; in no sum.")]
    refused_by_reason: Mapping[str, int]
    dropped: Annotated[int, doc("The part of `refused` that exceeded a quota, a rate or another bound.")]
    dropped_share: Annotated[float | None, doc("dropped / (received + dropped), 0 to 1.")]


class StatisticsAnswer(Answer):
    """The sample that the estimates come from. With `is_too_few` there are no estimates."""

    measure: Measure
    views: ReadViews
    population: Population
    effective_views: EffectiveViews
    is_weighted: Annotated[
        bool, doc("Sample rates differ. In numbers per view and in shares, each view counts 1 / its rate.")
    ]
    is_complete: Annotated[
        bool,
        doc("False if the contributions of some views have expired. Means and shares then come from the others."),
    ]
    clipped_views: Annotated[int, doc("Single views with a rate of their own, which count for less.")]
    is_too_few: bool


class EstimatesAnswer(Answer):
    """The cost per page view by the requested measure, zeros included. Null if there is too little data."""

    ms_per_view: float
    ms_per_view_ci95: Interval
    share: float | None
    share_ci95: Interval
    p50_ms: float
    p50_ms_ci95: Interval
    p75_ms: float
    p75_ms_ci95: Interval
    p95_ms: float
    p95_ms_ci95: Interval
    views_share: Annotated[float, doc("The share of views in which it is above zero.")]
    views_share_ci95: Interval

    @classmethod
    def of_summary(cls, summary: FuncSummary | None) -> Self | None:
        """Returns the estimates of a function, None without any."""
        if summary is None:
            return None
        share = summary.share or (None, None)
        percentiles = (*summary.p50_ms, *summary.p75_ms, *summary.p95_ms)
        return cls(*(*summary.ms_per_view, *share, *percentiles, *summary.ran))


def write_instant(at: datetime | None) -> str | None:
    """Returns a time as a slice has it, to the second; None for None."""
    return None if at is None else format_instant(at)


def share_of(part: int, whole: int) -> float | None:
    """Returns a share, 0 to 1; None of nothing."""
    return part / whole if whole else None
