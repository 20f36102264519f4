"""What watches say on the overview: the open states in a line, and what was confirmed or resolved in the chart."""

from typing import Final

from django.http import HttpRequest

from aggregate.guard.delivery.wording import clean
from aggregate.guard.reading import changes_of, select_open
from dashboard.web.access import Guest
from ingest.models import Project
from profcore.guard.states import State

SHOWN_OPEN: Final = 3
SHOWN_MARKS: Final = 4  # beside the marks of releases
Mark = tuple[str, str]  # name, moment


def describe_watches(request: HttpRequest, project: Project) -> dict[str, object]:
    """Returns the open states for the overview. Guests see none: what is watched is the team's own matter."""
    if isinstance(request.user, Guest):
        return {}
    found = select_open(project, most=SHOWN_OPEN + 1)
    return {"open_states": found[:SHOWN_OPEN], "has_more_states": len(found) > SHOWN_OPEN}


def list_marks(request: HttpRequest, project: Project) -> list[Mark]:
    """Returns the newest confirmed and resolved changes as marks of a chart. One statement."""
    if isinstance(request.user, Guest):
        return []
    rows = changes_of(project.pk).filter(state__in=(State.CONFIRMED, State.RESOLVED)).order_by("-id")[:SHOWN_MARKS]
    return [(f"{_subject(row.page, row.subject)} {State(row.state).name.lower()}", row.at.isoformat()) for row in rows]


def _subject(page: str | None, subject: str) -> str:
    return clean(page or subject) or "all pages"
