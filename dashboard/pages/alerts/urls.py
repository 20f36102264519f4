"""The addresses of alerts: what they found, and their settings."""

from typing import Final

from django.urls import URLPattern, path

from dashboard.pages.alerts import alert_form, alerts, channels, history, previews, profile, rollbacks
from dashboard.web.project_pages import PROJECT

SETTINGS: Final = PROJECT + "settings/"

# The project's pages; those of its settings follow.
VIEWS: Final = (history.show_alerts, history.accept_state, rollbacks.mark_release, profile.open_difference)

urlpatterns: list[URLPattern] = [
    path(SETTINGS + "alerts/", alerts.show_alerts, name="settings-alerts"),
    path(SETTINGS + "alerts/new/", alert_form.show_new_alert, name="settings-alert-new"),
    path(SETTINGS + "alerts/previews/<uuid:job_id>/", previews.show_preview, name="settings-alert-preview"),
    path(SETTINGS + "alerts/<int:alert_id>/", alert_form.show_alert, name="settings-alert"),
    path(SETTINGS + "alerts/<int:alert_id>/delete/", alert_form.end_alert, name="settings-alert-end"),
    path(SETTINGS + "alerts/<int:alert_id>/switch/", alerts.switch_alert, name="settings-alert-switch"),
    path(SETTINGS + "channels/new/", channels.show_new_channel, name="settings-channel-new"),
    path(SETTINGS + "channels/<int:channel_id>/", channels.show_channel, name="settings-channel"),
    path(SETTINGS + "channels/<int:channel_id>/delete/", channels.end_channel, name="settings-channel-end"),
]
