"""A project without data: from the snippet to the first trace, step by step, and how far it has come, live."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from aggregate.selectors import NewestTrace, Status, select_newest_trace, select_status
from dashboard.access import get_visible_project, may_administer
from dashboard.onboarding import build_onboarding
from dashboard.quality import ReasonRow, explain_reasons
from dashboard.reasons import explain_reason
from dashboard.shell import Shell, build_tabs
from dashboard.views import private_part
from ingest.models import Project, Receipt

State = Literal["done", "now", "problem", "later"]
# A worker that runs folds a lone trace within a second or two.
SLOW_FOLD_S: Final = 10


@dataclass(frozen=True, slots=True)
class Step:
    """One step on the way of a first trace."""

    name: str
    words: str
    state: State


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the first trace has come. `said` changes when anything does; `newest` is one that was set aside."""

    steps: Sequence[Step]
    said: str
    refusals: Sequence[ReasonRow]
    newest: NewestTrace | None
    is_slow: bool

    @property
    def why_set_aside(self) -> tuple[str, str]:
        """What the newest trace's reason means, and what to do."""
        return explain_reason(self.newest.reason or "") if self.newest else ("", "")

    @property
    def is_done(self) -> bool:
        """Tells whether there is something to see."""
        return all(step.state == "done" for step in self.steps)


def answer_first_visit(request: HttpRequest, project: Project, status: Status) -> HttpResponse:
    """Answers the page of a project of which nothing is folded yet."""
    base_url = request.build_absolute_uri("/").rstrip("/")
    context = {
        "project": project,
        "shell": Shell(build_tabs(project, here="project"), None),
        "may_administer": may_administer(request.user, project),
        "onboarding": build_onboarding(project, base_url, timezone.now()),
        "progress": follow(project, status),
    }
    return render(request, "dashboard/project_empty.html", context)


@private_part
def show_first_steps(request: HttpRequest, slug: str) -> HttpResponse:
    """How far the first trace has come: the part of the page that is asked again and again."""
    project = get_visible_project(request.user, slug)
    progress = follow(project, select_status(project.pk))
    return render(request, "dashboard/_first_steps.html", {"project": project, "progress": progress})


def follow(project: Project, status: Status) -> Progress:
    """Returns how far the project's first trace has come."""
    newest = None if status.folded else select_newest_trace(project.pk)
    steps = [_step_of_door(status), _step_of_trace(status), _step_of_fold(status)]
    return Progress(
        steps,
        " ".join(step.words for step in steps),
        explain_reasons(status.refused_by_reason),
        newest if newest and newest.state == Receipt.State.REJECTED else None,
        is_slow=(status.oldest_pending_s or 0.0) > SLOW_FOLD_S,
    )


def _step_of_door(status: Status) -> Step:
    if status.received:
        return Step("Your site reaches this server", "The key was used.", "done")
    if status.refused:
        return Step("Your site reaches this server", "Something was sent with the key, and refused.", "done")
    return Step("Your site reaches this server", "Waiting for the first post with the key.", "now")


def _step_of_trace(status: Status) -> Step:
    if status.received:
        return Step("A trace is received", f"{status.received} received.", "done")
    if status.refused:
        return Step("A trace is received", "None was taken yet; the reasons are below.", "problem")
    return Step("A trace is received", "It comes some ten seconds after a page is opened.", "later")


def _step_of_fold(status: Status) -> Step:
    name = "It is folded into the project’s numbers"
    if status.folded:
        return Step(name, "There is something to see.", "done")
    if status.pending:
        return Step(name, "Traces are waiting to be folded.", "now")
    if status.rejected:
        return Step(name, "No trace could be used.", "problem")
    return Step(name, "A moment after it is received.", "later")
