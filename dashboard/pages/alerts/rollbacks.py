"""Releases that were rolled back: an admin says so on an alarm, and takes it back on the page "Alerts"."""

from typing import Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors.project.announcements import select_said_rollbacks
from alerts.models import AlertRule
from alerts.rules import RELEASE_ALERT_ID
from dashboard.web.access import get_visible_project, may_administer
from dashboard.web.decorators import project_page
from projects.releases import ReleaseError, announce_release

SAID: Final = "It counts as rolled back. Its alarms end within minutes."
SAID_UNWATCHED: Final = "It counts as rolled back. Its alarms end once the alert on new releases is switched on."
TAKEN_BACK: Final = "It counts as in use again. If users have it, its alarms open again within about an hour."
TAKEN_BACK_UNWATCHED: Final = "It counts as in use again. The alert on new releases is switched off."


@project_page(kind="post", name="alerts-rolled-back", path="alerts/rolled-back/")
def mark_release(request: HttpRequest, slug: str) -> HttpResponse:
    """Says that a release was rolled back just now, or with `in_use` that it was not, or is in use again.

    What is known already stays: an admin who presses it on each alarm of a release says it once.
    """
    project = get_visible_project(request.user, slug)
    if not may_administer(request.user, project):
        raise Http404("There is no such page.")
    release, now = request.POST.get("release", ""), timezone.now()
    is_in_use = "in_use" in request.POST
    try:
        if is_in_use or release not in select_said_rollbacks(project.pk, now):
            announce_release(project.pk, release, now, {"rolled_back_at": None if is_in_use else now})
    except ReleaseError as error:
        messages.error(request, f"{error.field}: {error}")
    else:
        is_off = AlertRule.objects.filter(project_id=project.pk, id=RELEASE_ALERT_ID, is_on=False).exists()
        said, taken_back = (SAID_UNWATCHED, TAKEN_BACK_UNWATCHED) if is_off else (SAID, TAKEN_BACK)
        messages.success(request, taken_back if is_in_use else said)
    return HttpResponseRedirect(reverse("alerts", args=[project.slug]))
