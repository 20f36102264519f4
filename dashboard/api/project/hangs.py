"""`hangs`: pages that never answered, by the function in which they hung."""

from datetime import date, datetime
from typing import Annotated, Self

from rest_framework.request import Request

from aggregate.selectors.hangs.table import HangFrame, HangRow, HangTable, select_hangs
from dashboard.api.core.answer import Answer, choices, doc
from dashboard.api.core.parameters import SLICE_PARAMS, limit_of
from dashboard.api.core.parts import SliceAnswer
from dashboard.api.core.views import ProjectView
from dashboard.web.cache import answer_function_costs
from dashboard.web.project_pages import PageTraits
from profcore.hangs.reports import HANG_REASONS, STACK_STATES

LIMIT = limit_of(1_000, 100)


class OriginalCallAnswer(Answer):
    """Where the call is in the original sources; line and column are 1-based."""

    source: str
    line: int
    column: int
    name: Annotated[str | None, doc("The function around the call; null if it is not known.")]


class HangFrameAnswer(Answer):
    """A frame of a call stack: where in the function the next one was called. A built-in has no script."""

    name: str
    label: Annotated[str, doc("What to show, without the place.")]
    uri: str | None
    line: int | None
    column: int | None
    is_eval: Annotated[bool, doc("The code was evaluated; the place is that of the call of `eval`.")]
    original: OriginalCallAnswer | None

    @classmethod
    def of_frame(cls, row: HangFrame) -> Self:
        """Returns a frame."""
        original = OriginalCallAnswer(*row.original) if row.original else None
        return cls.of(row.frame, label=row.label, original=original)


class PageReportsAnswer(Answer):
    page: str
    reports: int


class HangAnswer(Answer):
    """Reports of one function, or of one reason without a stack."""

    reason: Annotated[str, choices(HANG_REASONS)]
    stack_state: Annotated[str, choices(STACK_STATES)]
    reports: int
    per_10000_views: Annotated[float | None, doc("Of all page views, estimated. Null if their number is not known.")]
    function: Annotated[str | None, doc("The id of the function in tables; null if no trace has it.")]
    cost_ms_per_view: Annotated[float | None, doc("The function's usual self and hidden time.")]
    label: Annotated[str | None, doc("The function's name; null without a stack.")]
    first_at: datetime
    last_at: datetime
    first_release: Annotated[str, doc("Of the first report; empty if it names none.")]
    last_release: str
    pages: Annotated[list[PageReportsAnswer], doc("Those with the most reports.")]
    page_count: int
    stack_count: int
    frames: Annotated[list[HangFrameAnswer], doc("The most frequent stack, the innermost frame first.")]


class ReasonReportsAnswer(Answer):
    reason: Annotated[str, choices(HANG_REASONS)]
    reports: int


class HangsAnswer(Answer):
    """Reports of whole UTC days. Of the slice, only release, page and time are known of them."""

    slice: SliceAnswer
    reports: int
    by_reason: list[ReasonReportsAnswer]
    views: Annotated[int | None, doc("Page views, estimated from the recorded ones and their rates.")]
    since: date | None
    hangs: list[HangAnswer]
    hang_count: int
    unread_reports: Annotated[int, doc("Reports of the rarest stacks, which are in no row.")]


class HangsView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = (*SLICE_PARAMS, LIMIT)

    def get(self, request: Request, slug: str) -> HangsAnswer:
        """Lists the functions in which pages hung, as browsers reported it, those with the most reports first."""
        slice_ = self.resolve_slice()
        table = select_hangs(slice_, limit=LIMIT.read(request.query_params))
        costs = answer_function_costs(slice_, [row.function.row_id for row in table.rows if row.function])
        return HangsAnswer(
            slice=SliceAnswer.of(slice_),
            reports=table.reports,
            by_reason=[ReasonReportsAnswer(reason, reports) for reason, reports in table.by_reason],
            views=table.views,
            since=table.first_on,
            hangs=[_answer_row(table, row, costs) for row in table.rows],
            hang_count=table.row_count,
            unread_reports=table.unread,
        )


def _answer_row(table: HangTable, row: HangRow, costs: dict[int | str, float | None]) -> HangAnswer:
    function = row.function.row_id if row.function else None
    return HangAnswer.of(
        row,
        per_10000_views=table.per_10000(row.reports),
        function=None if function is None else str(function),
        cost_ms_per_view=None if function is None else costs.get(function),
        pages=[PageReportsAnswer(page, reports) for page, reports in row.pages],
        frames=[HangFrameAnswer.of_frame(frame) for frame in row.frames],
    )
