"""The addresses of watches: what they found, and their settings."""

from typing import Final

from django.urls import URLPattern, path

from dashboard.pages.alerts import alert_form as watch_form
from dashboard.pages.alerts import alerts as watches
from dashboard.pages.alerts import channels, history, previews, profile, rollbacks

PROJECT: Final = "projects/<slug:slug>/"
SETTINGS: Final = PROJECT + "settings/"

urlpatterns: list[URLPattern] = [
    path(PROJECT + "watches/", history.show_guard, name="guard"),
    path(PROJECT + "watches/<int:watch_id>/<str:key>/accept/", history.accept_state, name="guard-accept"),
    path(PROJECT + "watches/rolled-back/", rollbacks.mark_release, name="guard-rolled-back"),
    path(PROJECT + "watches/changes/<int:change_id>/profile/", profile.open_difference, name="guard-profile"),
    path(SETTINGS + "watches/", watches.show_watches, name="settings-watches"),
    path(SETTINGS + "watches/new/", watch_form.show_new_watch, name="settings-watch-new"),
    path(SETTINGS + "watches/previews/<uuid:job_id>/", previews.show_preview, name="settings-watch-preview"),
    path(SETTINGS + "watches/<int:watch_id>/", watch_form.show_watch, name="settings-watch"),
    path(SETTINGS + "watches/<int:watch_id>/delete/", watch_form.end_watch, name="settings-watch-end"),
    path(SETTINGS + "watches/<int:watch_id>/switch/", watches.switch_watch, name="settings-watch-switch"),
    path(SETTINGS + "channels/new/", channels.show_new_channel, name="settings-channel-new"),
    path(SETTINGS + "channels/<int:channel_id>/", channels.show_channel, name="settings-channel"),
    path(SETTINGS + "channels/<int:channel_id>/delete/", channels.end_channel, name="settings-channel-end"),
]
