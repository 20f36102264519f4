"""The page of a project without data: how to send the first trace, and its progress, live."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from aggregate.selectors.project.absences import AbsenceReason, select_recent_reasons
from aggregate.selectors.project.summaries import NewestTrace, Status, select_newest_trace, select_status
from dashboard.layout.shell import Shell, build_tabs
from dashboard.pages.overview.onboarding import build_onboarding
from dashboard.pages.quality.absence_reasons import ExplainedAbsence, explain_absence
from dashboard.pages.quality.reasons import explain_reason
from dashboard.pages.quality.view import ReasonRow, explain_reasons
from dashboard.web.access import Guest, get_visible_project, may_administer
from dashboard.web.decorators import project_page
from dashboard.web.own_address import server_origin, server_url
from ingest.models import Receipt
from projects.models import Project

State = Literal["done", "now", "problem", "later"]
# A worker that runs folds a lone trace within a second or two.
SLOW_FOLD_S: Final = 10


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the first trace, with its state."""

    name: str
    text: str
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of the first trace. `said` changes when anything does; `newest` is a rejected trace.

    `absent` says why pages recorded nothing, as long as no trace is received.
    """

    steps: Sequence[Step]
    said: str
    refusals: Sequence[ReasonRow]
    absent: Sequence[ExplainedAbsence]
    newest: NewestTrace | None
    is_slow: bool

    @property
    def why_rejected(self) -> tuple[str, str]:
        """What the newest trace's reason means, and what to do."""
        return explain_reason(self.newest.reason or "") if self.newest else ("", "")

    @property
    def is_done(self) -> bool:
        """Returns whether there is something to see."""
        return all(step.state == "done" for step in self.steps)


def answer_first_visit(request: HttpRequest, project: Project, status: Status) -> HttpResponse:
    """Shows the page of a project without folded traces: guests do not see its keys."""
    if isinstance(request.user, Guest):
        shell = Shell(build_tabs(project, here="overview"), None)
        return render(request, "dashboard/shared/empty.html", {"project": project, "shell": shell})
    origin = server_origin(request)
    context = {
        "project": project,
        "shell": Shell(build_tabs(project, here="overview"), None),
        "may_administer": may_administer(request.user, project),
        "onboarding": build_onboarding(project, server_url(request), origin, timezone.now()),
        "progress": read_progress(project, status, origin),
    }
    return render(request, "dashboard/overview/first_visit.html", context)


@project_page(kind="part", name="first-steps", path="first-steps/")
def show_first_steps(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows the progress of the first trace: the part of the page that is fetched repeatedly."""
    project = get_visible_project(request.user, slug)
    progress = read_progress(project, select_status(project.pk), server_origin(request))
    return render(request, "dashboard/overview/_first_steps.html", {"project": project, "progress": progress})


def read_progress(project: Project, status: Status, origin: str) -> Progress:
    """Returns the progress of the project's first trace. `origin` is this server's."""
    newest = None if status.folded else select_newest_trace(project.pk)
    absent = [] if status.received else select_recent_reasons(project.pk, timezone.now())
    steps = [_step_of_endpoint(status, absent), _step_of_trace(status, absent), _step_of_fold(status)]
    rows = [explain_absence(reason, origin) for reason in absent]
    return Progress(
        steps=steps,
        said=" ".join([*(step.text for step in steps), *(row.explanation.meaning for row in rows)]),
        absent=rows,
        refusals=explain_reasons(status.refused_by_reason),
        newest=newest if newest and newest.state == Receipt.State.REJECTED else None,
        is_slow=(status.oldest_pending_s or 0.0) > SLOW_FOLD_S,
    )


def _step_of_endpoint(status: Status, absent: Sequence[AbsenceReason]) -> Step:
    if status.received:
        return Step("Your site reaches this server", "The key was used.", "done")
    if status.refused:
        return Step("Your site reaches this server", "Traces were sent with the key, but refused.", "done")
    if absent:
        return Step("Your site reaches this server", "Your page loads the snippet, but recorded nothing.", "done")
    return Step("Your site reaches this server", "Waiting for the first trace with the key.", "now")


def _step_of_trace(status: Status, absent: Sequence[AbsenceReason]) -> Step:
    if status.received:
        return Step("A trace is received", f"{status.received} received.", "done")
    if status.refused or absent:
        return Step("A trace is received", "None was received yet; the reasons are below.", "problem")
    return Step("A trace is received", "This takes about ten seconds after a page is opened.", "later")


def _step_of_fold(status: Status) -> Step:
    name = "The trace is folded"
    if status.folded:
        return Step(name, "The project has numbers to show.", "done")
    if status.pending:
        return Step(name, "Traces are pending.", "now")
    if status.rejected:
        return Step(name, "All traces were rejected.", "problem")
    return Step(name, "This takes a moment after it is received.", "later")
