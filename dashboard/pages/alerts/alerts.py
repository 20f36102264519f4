"""The settings page "Watches": what is watched, and the channels that are told about it."""

from datetime import UTC, datetime
from typing import Final

from django.http import Http404, HttpResponse

from alerts.models import Channel, Watch
from alerts.reading import select_channels, select_standings
from alerts.rules import RELEASE_WATCH_ID, change_watch, make_release_watch
from dashboard.pages.alerts.alert_form import NO_WATCH
from dashboard.pages.alerts.channels import DELETED, KINDS
from dashboard.pages.settings.layout import SettingsRequest, settings_page

SECTION: Final = "settings-watches"


@settings_page(SECTION)
def show_watches(page: SettingsRequest) -> HttpResponse:
    """Lists watches and channels. The release watch is there before it is first evaluated."""
    if not Watch.objects.filter(project_id=page.project.pk, id=RELEASE_WATCH_ID).exists():
        make_release_watch(page.project.pk, datetime.now(UTC))
    words = dict(KINDS)
    standings = select_standings(page.project.pk)
    names = {each.watch.id: each.watch.name for each in standings}
    channels = select_channels(page.project.pk)
    return page.render(
        "watches",
        standings=standings,
        channels=[
            (channel, words[Channel.Kind(channel.kind)], [names.get(each, DELETED) for each in channel.watch_ids or ()])
            for channel in channels
        ],
    )


@settings_page(SECTION, for_admins=True)
def switch_watch(page: SettingsRequest, watch_id: int) -> HttpResponse:
    """Switches a watch on or off."""
    watch = Watch.objects.filter(project_id=page.project.pk, id=watch_id).first()
    if watch is None or not page.has_posted:
        raise Http404(NO_WATCH)
    is_on = page.request.POST.get("is_on") == "1"
    try:
        change_watch(watch, is_on=is_on, now=datetime.now(UTC))
    except Watch.DoesNotExist:  # deleted meanwhile
        raise Http404(NO_WATCH) from None
    page.log_change("watch switched:", watch.id, is_on)
    return page.redirect("The watch is on." if is_on else "The watch is off. Its states stay as they are.")
