"""All addresses of the dashboard: the pages and the read API."""

from django.urls import URLPattern

from dashboard.api import urls as api
from dashboard.pages import urls as pages

urlpatterns: list[URLPattern] = [*pages.urlpatterns, *api.urlpatterns, api.fallback]
