"""The page "Hangs": pages that never answered, by the function in which they hung."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from aggregate.selectors.hangs.table import HangRow, HangTable, select_hangs
from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.pages import select_releases
from aggregate.selectors.project.summaries import select_status
from aggregate.selectors.slice.slices import Slice
from dashboard.layout.hang_lines import write_hang_headers
from dashboard.layout.shell import build_shell
from dashboard.web.access import get_visible_project
from dashboard.web.cache import answer_function_costs
from dashboard.web.decorators import project_page
from dashboard.web.etags import answer_unchanged
from dashboard.web.own_address import server_url
from dashboard.web.project_pages import Tab
from dashboard.web.queries import read_page_slice
from projects.models import Project

ROWS: Final = 50  # the API lists more
# What a row without a stack says instead of a function, by the state of the stack.
NO_STACK_WORDS: Final = {
    "there": "Many different stacks",
    "absent": "No stack in the report",
    "not-opted-in": "The page does not send the policy that allows stacks",
    "extension": "A browser extension was on the stack",
    "uncollected": "The page waited in the browser, for example for a synchronous request",
}
REASON_WORDS: Final = {
    "unresponsive": "did not answer",
    "oom": "ran out of memory",
    "crash": "crashed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownHang:
    """A row, with reports per 10,000 page views, and its function's cost per view, ms; None for what is not known."""

    row: HangRow
    words: str
    per_10000: float | None
    cost_ms: float | None


@project_page(
    name="hangs",
    path="hangs/",
    tab=Tab(label="Hangs", key="h"),
    heavy="yes",
    on_replica=True,
)
@answer_unchanged
def show_hangs(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    slice_ = read_page_slice(request, project)
    releases = select_releases(project.pk)
    table = select_hangs(slice_, limit=ROWS)
    context: dict[str, object] = {
        "project": project,
        "slice": slice_,
        "status": select_status(project.pk),
        "arrivals": select_arrivals(slice_),
        "shell": build_shell(request, project, slice_, "hangs", releases=releases, now=timezone.now()),
        "table": table,
        "reasons": [(REASON_WORDS[reason], reports, table.per_10000(reports)) for reason, reports in table.by_reason],
        "rows": describe_rows(slice_, table),
        "ignores_fields": slice_.is_fine or slice_.has_dimensions,
        "headers": None if table.reports else find_headers(request, project),
    }
    return render(request, "dashboard/hangs/page.html", context)


def describe_rows(slice_: Slice, table: HangTable) -> Sequence[ShownHang]:
    """Returns the rows of a table as the page shows them."""
    costs = answer_function_costs(slice_, [row.function.row_id for row in table.rows if row.function])
    return [
        ShownHang(
            row=row,
            words=NO_STACK_WORDS[row.stack_state] if row.reason == "unresponsive" else REASON_WORDS[row.reason],
            per_10000=table.per_10000(row.reports),
            cost_ms=costs.get(row.function.row_id) if row.function else None,
        )
        for row in table.rows
    ]


def find_headers(request: HttpRequest, project: Project) -> str | None:
    """Returns the headers that a site sends, with the project's oldest active key; None without a key."""
    key = project.keys.filter(revoked_at=None).order_by("pk").first()
    return write_hang_headers(server_url(request), key.public_key) if key else None
