"""The dashboard's pages and the read API."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, path, re_path
from django.views.generic import RedirectView

from dashboard import (
    api,
    code,
    comparing,
    drilldown,
    importing,
    jobs,
    markers,
    overview,
    project_settings,
    sharing,
    sourcemaps,
    sources,
    tree,
    view_timeline,
    views,
)

PROJECT_API = "api/v1/projects/<slug:slug>/"

urlpatterns: list[URLPattern] = [
    path("", RedirectView.as_view(pattern_name="projects"), name="home"),
    path("login/", views.LogIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("projects/", views.show_projects, name="projects"),
    path("projects/<slug:slug>/", views.show_project, name="project"),
    path("projects/<slug:slug>/page/", views.show_page, name="page"),
    path("projects/<slug:slug>/functions/<str:func_id>/", sources.show_function, name="function"),
    path("projects/<slug:slug>/tree/", tree.show_tree, name="tree"),
    path("projects/<slug:slug>/import/", importing.show_import, name="import"),
    path(PROJECT_API + "status", api.StatusView.as_view(), name="api-status"),
    path(PROJECT_API + "releases", api.ReleasesView.as_view(), name="api-releases"),
    path(PROJECT_API + "pages", api.PagesView.as_view(), name="api-pages"),
    path(PROJECT_API + "overview", overview.OverviewView.as_view(), name="api-overview"),
    path(PROJECT_API + "settings", project_settings.SettingsView.as_view(), name="api-settings"),
    path(PROJECT_API + "functions", api.FunctionsView.as_view(), name="api-functions"),
    path(PROJECT_API + "code", code.CodeView.as_view(), name="api-code"),
    path(PROJECT_API + "code/preview", code.CodePreviewView.as_view(), name="api-code-preview"),
    path(PROJECT_API + "matches", code.MatchesView.as_view(), name="api-matches"),
    path(PROJECT_API + "markers", markers.MarkersView.as_view(), name="api-markers"),
    path(PROJECT_API + "compare", comparing.CompareView.as_view(), name="api-compare"),
    path(PROJECT_API + "functions/<str:func_id>/source", sources.SourceView.as_view(), name="api-source"),
    path(PROJECT_API + "functions/<str:func_id>/census", drilldown.CensusView.as_view(), name="api-census"),
    path(PROJECT_API + "functions/<str:func_id>/callers", drilldown.CallersView.as_view(), name="api-callers"),
    path(PROJECT_API + "functions/<str:func_id>/callees", drilldown.CalleesView.as_view(), name="api-callees"),
    path(PROJECT_API + "calltree", drilldown.CallTreeView.as_view(), name="api-calltree"),
    path(PROJECT_API + "flamegraph", drilldown.FlameGraphView.as_view(), name="api-flamegraph"),
    path(PROJECT_API + "views", drilldown.ViewsView.as_view(), name="api-views"),
    path(PROJECT_API + "views/<str:view_id>/timeline", view_timeline.TimelineView.as_view(), name="api-timeline"),
    path(PROJECT_API + "traces", drilldown.TracesView.as_view(), name="api-traces"),
    path(PROJECT_API + "traces/<str:ref>", drilldown.TraceView.as_view(), name="api-trace"),
    path(PROJECT_API + "traces/<str:ref>/raw", drilldown.RawTraceView.as_view(), name="api-raw-trace"),
    path(PROJECT_API + "profile", api.ProfileView.as_view(), name="api-profile"),
    path(PROJECT_API + "jobs", jobs.JobsView.as_view(), name="api-jobs"),
    path(PROJECT_API + "jobs/<uuid:job_id>", jobs.JobView.as_view(), name="api-job"),
    path(PROJECT_API + "jobs/<uuid:job_id>/result", jobs.JobResultView.as_view(), name="api-job-result"),
    path(PROJECT_API + "sourcemaps", sourcemaps.SourceMapsView.as_view(), name="api-sourcemaps"),
    path(PROJECT_API + "links", sharing.LinksView.as_view(), name="api-links"),
    path("api/v1/shared/<str:token>/<str:file_name>", sharing.SharedProfileView.as_view(), name="shared-profile"),
    path("api/v1/schema", api.SchemaView.as_view(), name="api-schema"),
    path("api/v1/docs", views.show_api_docs, name="api-docs"),
    re_path(r"^api(?:/|$)", api.no_such_address),
]
