"""The addresses of the pages for superusers."""

from django.urls import URLPattern, path

from dashboard.pages.administration import audit_log

urlpatterns: list[URLPattern] = [
    path("audit/", audit_log.show_audit_log, name="audit"),
    path("audit/export/", audit_log.export_audit_log, name="audit-export"),
]
