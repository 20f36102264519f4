"""The addresses of alerts: what they found, and their settings."""

from typing import Final

from django.urls import URLPattern, path

from dashboard.pages.alerts import alert_form, alerts, channels, history, previews, profile, rollbacks

PROJECT: Final = "projects/<slug:slug>/"
SETTINGS: Final = PROJECT + "settings/"

urlpatterns: list[URLPattern] = [
    path(PROJECT + "alerts/", history.show_alerts, name="alerts"),
    path(PROJECT + "alerts/<int:alert_id>/<str:key>/accept/", history.accept_state, name="alerts-accept"),
    path(PROJECT + "alerts/rolled-back/", rollbacks.mark_release, name="alerts-rolled-back"),
    path(PROJECT + "alerts/changes/<int:change_id>/profile/", profile.open_difference, name="alerts-profile"),
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
