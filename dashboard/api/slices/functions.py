"""`functions`: the functions of a slice by their exact sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Self

from django.http import QueryDict
from rest_framework.request import Request

from aggregate.selectors.functions.table import FunctionRow, FunctionTable
from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.estimates import TABLE_SORTS, TableQuery, select_estimated
from dashboard.api.core.answer import Answer, Interval, doc
from dashboard.api.core.parameters import CATEGORY, GROUP_BY, SEARCH, Text, limit_of, many
from dashboard.api.core.parts import (
    ArrivalsAnswer,
    DisplayAnswer,
    EstimatesAnswer,
    FuncAnswer,
    SliceAnswer,
    StatisticsAnswer,
    SumsSource,
    TimeAnswer,
    TruncatedShare,
    TruncatedViews,
    share_of,
)
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.queries import Query
from dashboard.web.cache import answer_table
from dashboard.web.params import MEASURES, ParamError, read_measure, read_narrowing
from dashboard.web.project_pages import PageTraits

# A heavy page has some thousands of functions; the limit keeps an answer to a few MB.
LIMIT: Final = limit_of(10_000)
SORT: Final = Text("sort", choices=TABLE_SORTS, default="self_ms")
# The files of a large change: a longer address than this many paths make is refused by servers.
MAX_SOURCE_PATHS: Final = 100
SOURCE_PATH: Final = many("source_path", "Only functions that source maps have in this original source.")
MEASURE: Final = Text("measure", "Of `estimates`.", choices=MEASURES, default="self")


class FunctionAnswer(FuncAnswer):
    """One function's exact sums in the slice. Line and column say where it is defined, 1-based."""

    self_samples: int
    total_samples: int
    self_ms: float
    total_ms: float
    hidden_ms: Annotated[float, doc("Hidden time attributed to it; not in self or total.")]
    hidden_total_ms: Annotated[float, doc("Hidden time attributed to it or to what it called.")]
    uncertain_ms: Annotated[
        float, doc("Hidden time that may be its own, its callees' or the engine's; in no other number of it.")
    ]
    views: Annotated[int | None, doc("Page views that ran it; null for groups of very many views.")]
    self_share: Annotated[float | None, doc("self / JS time of the slice, 0 to 1.")]
    self_share_ci95: Interval
    self_ms_per_view: Annotated[
        float | None,
        doc("Over all page views of the slice. Null if sample rates differ and there are no statistics."),
    ]
    self_ms_per_view_ci95: Interval
    p75_self_ms_per_view: Annotated[float | None, doc("Zeros included.")]
    estimates: Annotated[EstimatesAnswer | None, doc("For `measure`; null if there are no statistics.")]

    @classmethod
    def of_row(cls, row: FunctionRow, table: FunctionTable) -> Self:
        """Returns a row of a table."""
        by_self = table.self_estimates.get(row.id)
        share = by_self.share if by_self else None
        return cls.of(
            row,
            self_samples=row.self_samples,
            total_samples=row.total_samples,
            self_ms=row.self_us / 1000,
            total_ms=row.total_us / 1000,
            hidden_ms=row.hidden_us / 1000,
            hidden_total_ms=row.hidden_total_us / 1000,
            uncertain_ms=row.uncertain_us / 1000,
            views=row.views,
            self_share=table.self_share(row),
            self_share_ci95=share.ci95 if share else None,
            self_ms_per_view=table.self_ms_per_view(row),
            self_ms_per_view_ci95=by_self.ms_per_view.ci95 if by_self else None,
            p75_self_ms_per_view=by_self.p75_ms.value if by_self else None,
            estimates=EstimatesAnswer.of_summary(table.estimates.get(row.id)),
        )


def read_source_paths(params: QueryDict, *, group_by: str) -> Sequence[str]:
    """Returns the paths of original sources whose functions are asked for. Raises `ParamError`."""
    paths = params.getlist(SOURCE_PATH.name)
    if paths and group_by != "function":
        raise ParamError(SOURCE_PATH.name, "source_path works only with group_by=function.")
    if len(paths) > MAX_SOURCE_PATHS:
        raise ParamError(
            SOURCE_PATH.name, f"source_path occurs {len(paths)} times; it may occur {MAX_SOURCE_PATHS} times."
        )
    return tuple(sorted(set(paths)))


class FunctionsAnswer(Answer):
    """The sums of a slice, and its functions."""

    slice: SliceAnswer
    arrivals: ArrivalsAnswer
    source: SumsSource
    views: int
    truncated_views: TruncatedViews
    truncated_share: TruncatedShare
    traces: int
    samples: int
    time_ms: TimeAnswer
    statistics: Annotated[StatisticsAnswer | None, doc("Null for single traces.")]
    display: DisplayAnswer
    function_count: Annotated[int, doc("All functions of the slice, also those beyond the limit.")]
    functions: list[FunctionAnswer]


@dataclass(frozen=True, slots=True)
class FunctionsQuery(Query):
    """`functions`: the slice's functions, or groups of them."""

    kind = "functions"
    params = (CATEGORY, SEARCH, SOURCE_PATH, GROUP_BY, SORT, MEASURE, LIMIT)
    table: TableQuery

    @classmethod
    def read(cls, params: QueryDict) -> Self:
        grouping = GROUP_BY.read(params)
        narrowing = read_narrowing(params)
        return cls(
            TableQuery(
                group_by=grouping,
                sort=SORT.read(params),
                measure=read_measure(params, group_by=grouping, default="self"),
                limit=LIMIT.read(params),
                categories=narrowing.categories,
                search=narrowing.search,
                source_paths=read_source_paths(params, group_by=grouping),
            )
        )

    @property
    def passes(self) -> tuple[bool, int]:
        return (False, 1) if self.table.group_by == "function" else (True, 3)

    def answer(self, slice_: Slice, reading: Reading | None = None) -> FunctionsAnswer:
        at_once = reading is None
        table = answer_table(slice_, self.table) if at_once else select_estimated(slice_, self.table, reading)
        return FunctionsAnswer.of(
            table,
            slice=SliceAnswer.of(slice_),
            arrivals=ArrivalsAnswer.of(select_arrivals(slice_)),
            truncated_share=share_of(table.truncated_views, table.views),
            samples=table.time.samples,
            time_ms=TimeAnswer.of(table.time),
            statistics=StatisticsAnswer.of(table.summary) if table.summary else None,
            display=DisplayAnswer(table.display_rules),
            functions=[FunctionAnswer.of_row(row, table) for row in table.functions],
        )


class FunctionsView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = FunctionsQuery.known_params()
    job_kind = FunctionsQuery.kind

    def get(self, request: Request, slug: str) -> FunctionsAnswer:
        """Lists the functions of a slice that have JS, hidden or uncertain time, with exact sums."""
        return FunctionsQuery.read(request.query_params).answer(self.resolve_slice())
