"""The settings page "Alerts": what is watched, and the channels that get messages about it."""

from datetime import UTC, datetime
from typing import Final

from django.http import Http404, HttpResponse

from alerts.models import AlertRule, Channel
from alerts.reading import Standings, select_channels, select_standings
from alerts.rules import RELEASE_ALERT_ID, build_release_alert, change_alert, make_release_alert
from dashboard.pages.alerts.alert_form import NO_ALERT
from dashboard.pages.alerts.channels import DELETED, KINDS
from dashboard.pages.settings.layout import SettingsRequest, settings_page

SECTION: Final = "settings-alerts"


@settings_page(SECTION)
def show_alerts(page: SettingsRequest) -> HttpResponse:
    """Lists alerts and channels. The release alert is listed before a worker has made it."""
    kinds = dict(KINDS)
    standings = select_standings(page.project.pk)
    if RELEASE_ALERT_ID not in {standing.alert.id for standing in standings}:
        standings.insert(0, Standings(build_release_alert(page.project.pk, datetime.now(UTC)), {}))
    names = {standing.alert.id: standing.alert.name for standing in standings}
    channels = select_channels(page.project.pk)
    return page.render(
        "alerts",
        standings=standings,
        channels=[
            (
                channel,
                kinds[Channel.Kind(channel.kind)],
                [names.get(alert_id, DELETED) for alert_id in channel.alert_ids or ()],
            )
            for channel in channels
        ],
    )


@settings_page(SECTION, for_admins=True)
def switch_alert(page: SettingsRequest, alert_id: int) -> HttpResponse:
    """Switches an alert on or off."""
    if page.has_posted and alert_id == RELEASE_ALERT_ID:
        make_release_alert(page.project.pk, datetime.now(UTC))
    alert = AlertRule.objects.filter(project_id=page.project.pk, id=alert_id).first()
    if alert is None or not page.has_posted:
        raise Http404(NO_ALERT)
    is_on = page.request.POST.get("is_on") == "1"
    try:
        change_alert(alert, is_on=is_on, now=datetime.now(UTC))
    except AlertRule.DoesNotExist:  # deleted meanwhile
        raise Http404(NO_ALERT) from None
    page.log_change("alert switched:", alert.id, is_on)
    return page.redirect("The alert is on." if is_on else "The alert is off. Its states stay as they are.")
