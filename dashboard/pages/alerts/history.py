"""The page "Alerts": what is suspected or confirmed now, and each change of a state."""

from datetime import datetime
from typing import Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors.project.announcements import select_said_rollbacks
from alerts.models import AlertRule
from alerts.reading import find_open, select_history, select_open, select_standings
from alerts.rules import accept
from dashboard.layout.shell import Shell, build_tabs
from dashboard.web.access import get_visible_project, may_administer
from dashboard.web.decorators import project_page
from dashboard.web.params import read_count
from dashboard.web.project_pages import Tab
from profcore.alerts.states import State

SHOWN_OPEN: Final = 100
SHOWN_CHANGES: Final = 50
SHOWN_ROLLED_BACK: Final = 10
NOT_OPEN: Final = "This is not open any more."
MAX_ID: Final = 999_999_999  # what an address may say


@project_page(
    name="alerts",
    path="alerts/",
    tab=Tab(label="Alerts", key="a", takes_slice=False),
)
def show_alerts(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    before = read_count(request.GET, "before", default=MAX_ID, high=MAX_ID)
    changes = select_history(project, before=before, most=SHOWN_CHANGES + 1)
    context = {
        "project": project,
        "shell": Shell(build_tabs(project, here="alerts"), None),
        "may_change": may_administer(request.user, project),
        "standings": select_standings(project.pk),
        "open": select_open(project, most=SHOWN_OPEN),
        "rolled_back": list_rolled_back(project.pk),
        "changes": changes[:SHOWN_CHANGES],
        "older": changes[SHOWN_CHANGES - 1].change.id if len(changes) > SHOWN_CHANGES else None,
        "is_newest": before == MAX_ID,
        "SUSPECTED": State.SUSPECTED,
    }
    return render(request, "dashboard/alerts/page.html", context)


def list_rolled_back(project_id: int) -> list[tuple[str, datetime]]:
    """Returns the releases that were said to be rolled back, and since when, the last first."""
    said = select_said_rollbacks(project_id, timezone.now())
    return sorted(said.items(), key=lambda pair: pair[1], reverse=True)[:SHOWN_ROLLED_BACK]


@project_page(
    kind="form",
    name="alerts-accept",
    path="alerts/<int:alert_id>/<str:key>/accept/",
)
def accept_state(request: HttpRequest, slug: str, alert_id: int, key: str) -> HttpResponse:
    """Asks an admin whether an alarm is meant to be so; posted, it ends it."""
    project = get_visible_project(request.user, slug)
    alert = AlertRule.objects.filter(project_id=project.pk, id=alert_id).first()
    try:
        subject_key = bytes.fromhex(key)
    except ValueError:
        alert = None
    if alert is None or not may_administer(request.user, project):
        raise Http404("There is no such state.")
    if request.method != "POST":
        described = find_open(project, alert.id, subject_key)
        if described is None:
            messages.info(request, NOT_OPEN)
            return HttpResponseRedirect(reverse("alerts", args=[project.slug]))
        shell = Shell(build_tabs(project, here="alerts"), None)
        return render(
            request, "dashboard/alerts/accept.html", {"project": project, "shell": shell, "described": described}
        )
    change = accept(alert, subject_key, timezone.now())
    message = "Accepted. It counts as resolved." if change else NOT_OPEN
    messages.add_message(request, messages.SUCCESS if change else messages.INFO, message)
    return HttpResponseRedirect(reverse("alerts", args=[project.slug]))
