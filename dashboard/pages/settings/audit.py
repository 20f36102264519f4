"""The settings page "Audit log": who changed what in this project. For admins."""

from django.db.models import QuerySet
from django.http import HttpResponse
from django.urls import reverse

from dashboard.layout.audit_table import read_table, stream_lines
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from projects.audit.entries import entries_of
from projects.models import AuditEntry, Project


@settings_page("settings-audit", for_admins=True)
def show_audit(page: SettingsRequest) -> HttpResponse:
    export = reverse("settings-audit-export", args=[page.project.slug])
    return page.render("audit", table=read_table(select_entries(page), page.request.GET, export=export))


@settings_page("settings-audit", for_admins=True)
def export_audit(page: SettingsRequest) -> HttpResponse:
    """Streams the same entries as lines of JSON."""
    return stream_lines(select_entries(page), page.request.GET, file_name=f"{page.project.slug}-audit.jsonl")


def select_entries(page: SettingsRequest) -> QuerySet[AuditEntry]:
    return entries_of(Project.objects.filter(pk=page.project.pk), with_server=False)
