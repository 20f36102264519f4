"""The addresses of the pages for superusers."""

from django.urls import URLPattern, path

from dashboard.pages.administration import audit_log, user_page, users

urlpatterns: list[URLPattern] = [
    path("users/", users.show_users, name="users"),
    path("users/<int:user_id>/", user_page.show_user, name="user"),
    path("users/<int:user_id>/delete/", user_page.show_delete, name="user-delete"),
    path("audit/", audit_log.show_audit_log, name="audit"),
    path("audit/export/", audit_log.export_audit_log, name="audit-export"),
]
