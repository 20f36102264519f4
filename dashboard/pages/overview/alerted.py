"""What alerts say on the overview: the open states in a line, and what was confirmed or resolved in the chart."""

from collections.abc import Sequence
from datetime import date
from typing import Final

from django.http import HttpRequest

from alerts.delivery.wording import clean
from alerts.models import StateChange
from alerts.reading import changes_of, select_open
from dashboard.web.access import Guest
from profcore.alerts.states import State
from projects.models import Project

SHOWN_OPEN: Final = 3
SHOWN_MARKS: Final = 4  # next to the marks of releases
READ_MARKS: Final = 40  # changes: those of one day are one mark, since their words would cover each other
Mark = tuple[str, str]  # name, moment


def describe_alerts(request: HttpRequest, project: Project) -> dict[str, object]:
    """Returns the open states for the overview. Guests see no states: what is watched is the team's own matter."""
    if isinstance(request.user, Guest):
        return {}
    open_states = select_open(project, most=SHOWN_OPEN + 1)
    return {
        "may_see_alerts": True,
        "open_states": open_states[:SHOWN_OPEN],
        "has_more_states": len(open_states) > SHOWN_OPEN,
    }


def list_marks(request: HttpRequest, project: Project) -> list[Mark]:
    """Returns the newest confirmed and resolved changes as marks of a chart, one for each UTC day. One statement."""
    if isinstance(request.user, Guest):
        return []
    rows = changes_of(project.pk).filter(state__in=(State.CONFIRMED, State.RESOLVED)).order_by("-id")[:READ_MARKS]
    days: dict[date, list[StateChange]] = {}
    for row in rows:
        days.setdefault(row.at.date(), []).append(row)
    return [
        (_name_mark(day_changes), day_changes[0].at.isoformat()) for day_changes in list(days.values())[:SHOWN_MARKS]
    ]


def _name_mark(rows: Sequence[StateChange]) -> str:
    """Returns what changed on a day: of one change its subject, of more how many had which outcome."""
    if len(rows) == 1:
        return f"{clean(rows[0].page or rows[0].subject) or 'all pages'} {State(rows[0].state).name.lower()}"
    states = [State(row.state) for row in rows]
    counts = [(states.count(state), state.name.lower()) for state in (State.CONFIRMED, State.RESOLVED)]
    return ", ".join(f"{count} {word}" for count, word in counts if count)
