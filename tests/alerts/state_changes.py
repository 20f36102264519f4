"""Changes of states, written as the evaluation writes them, for tests of messages, pages and the API."""

from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import transaction

from alerts.changes import Cause, select_states, write_standing
from alerts.models import AlertRule, StateChange
from alerts.rules import RELEASE_ALERT_ID, make_release_alert
from alerts.subjects import Finding, Subject
from profcore.alerts.states import Standing, State
from projects.models import Project

NOON: Final = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
FINDING: Final = Finding(
    views=400,
    base_release="1.0",
    base_views=500,
    look=3,
    value=13.04,
    low=9.8,
    high=16.2,
    relative=1.004,
    q=0.0001,
    bound=0.01,
    culprit="renderCart",
)


def change_state(
    project: Project,
    state: State,
    *,
    page: str | None = "/cart",
    release: str = "1.1",
    at: datetime = NOON,
    name: str = "",
) -> StateChange | None:
    """Gives a page of a release another state, or the function `name` on it."""
    make_release_alert(project.pk, NOON - timedelta(days=1))
    alert = AlertRule.objects.get(project=project, id=RELEASE_ALERT_ID)
    subject = Subject(release=release, page=page, name=name)
    with transaction.atomic():
        before = select_states(alert).get(subject.key)
        return write_standing(alert, subject, before, Standing(state), FINDING, at=at, cause=Cause.LOOK)
