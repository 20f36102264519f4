"""The log of administration of the whole server, for superusers."""

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from dashboard.layout.audit_table import read_table, stream_lines
from dashboard.pages.administration.layout import administration_page, render_page
from dashboard.web.access import reader_projects
from projects.audit.entries import entries_of
from projects.models import AuditEntry


@administration_page
def show_audit_log(request: HttpRequest) -> HttpResponse:
    table = read_table(select_entries(request), request.GET, export=reverse("audit-export"))
    return render_page(request, "audit", "audit", table=table)


@administration_page
def export_audit_log(request: HttpRequest) -> HttpResponse:
    """Streams the same entries as lines of JSON."""
    return stream_lines(select_entries(request), request.GET, file_name="fieldflame-audit.jsonl")


def select_entries(request: HttpRequest) -> QuerySet[AuditEntry]:
    """Returns the entries about the server, and about the projects that this superuser can see."""
    return entries_of(reader_projects(request.user), with_server=True)
