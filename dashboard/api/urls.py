"""The addresses of the read API."""

from django.urls import URLPattern, path, re_path

from dashboard.api.alerts import alert, alerts, channels, deliveries, previews
from dashboard.api.core.openapi import answer_document
from dashboard.api.core.views import no_such_address
from dashboard.api.jobs import endpoints as jobs
from dashboard.api.jobs import links
from dashboard.api.project import (
    audit,
    code,
    display,
    erasures,
    hangs,
    lists,
    metrics,
    quality,
    releases,
    sentry_uploads,
    settings,
    sourcemaps,
)
from dashboard.api.pyroscope import connect, listing, series, stacktraces
from dashboard.api.slices import (
    calls,
    calltree,
    compare,
    flamegraph,
    functions,
    markers,
    overview,
    profile,
    savings,
    source,
    timeline,
    traces,
    trend,
    verdict,
    vitals,
)
from dashboard.web.unavailable import QUERIER_PATH

PROJECT: str = "api/v1/projects/<slug:slug>/"
CHANNEL: str = "channels/<str:channel>/"
QUERIER: str = PROJECT.removesuffix("/") + QUERIER_PATH  # clients of Pyroscope append it to what they are given

# What the OpenAPI document describes.
ENDPOINTS: tuple[URLPattern, ...] = (
    path(PROJECT + "status", lists.StatusView.as_view(), name="api-status"),
    path(PROJECT + "releases", releases.ReleasesView.as_view(), name="api-releases"),
    path(PROJECT + "pages", lists.PagesView.as_view(), name="api-pages"),
    path(PROJECT + "overview", overview.OverviewView.as_view(), name="api-overview"),
    path(PROJECT + "trend", trend.TrendView.as_view(), name="api-trend"),
    path(PROJECT + "metrics", metrics.MetricsView.as_view(), name="api-metrics"),
    path(PROJECT + "settings", settings.SettingsView.as_view(), name="api-settings"),
    path(PROJECT + "alerts", alerts.AlertsView.as_view(), name="api-alerts"),
    path(PROJECT + "alerts/changes", alerts.StateChangesView.as_view(), name="api-alert-changes"),
    path(PROJECT + "alerts/preview", previews.AlertPreviewView.as_view(), name="api-alert-preview"),
    path(PROJECT + "alerts/<str:alert>", alert.AlertView.as_view(), name="api-alert"),
    path(PROJECT + "alerts/<str:alert>/states/<str:key>/accept", alert.AcceptStateView.as_view(), name="api-accept"),
    path(PROJECT + "channels", channels.ChannelsView.as_view(), name="api-channels"),
    path(PROJECT + "channels/<str:channel>", channels.ChannelView.as_view(), name="api-channel"),
    path(PROJECT + CHANNEL + "secret", channels.ChannelSecretView.as_view(), name="api-channel-secret"),
    path(PROJECT + CHANNEL + "test", deliveries.ChannelTestView.as_view(), name="api-channel-test"),
    path(PROJECT + CHANNEL + "deliveries", deliveries.DeliveriesView.as_view(), name="api-deliveries"),
    path(PROJECT + CHANNEL + "deliveries/<uuid:message_id>/replay", deliveries.ReplayView.as_view(), name="api-replay"),
    path(PROJECT + "audit", audit.AuditView.as_view(), name="api-audit"),
    path(PROJECT + "erasures", erasures.ErasuresView.as_view(), name="api-erasures"),
    path(PROJECT + "erasures/<uuid:job_id>", erasures.ErasureView.as_view(), name="api-erasure"),
    path(PROJECT + "functions", functions.FunctionsView.as_view(), name="api-functions"),
    path(PROJECT + "code", code.CodeView.as_view(), name="api-code"),
    path(PROJECT + "code/preview", code.CodePreviewView.as_view(), name="api-code-preview"),
    path(PROJECT + "display", display.DisplayView.as_view(), name="api-display"),
    path(PROJECT + "display/preview", display.DisplayPreviewView.as_view(), name="api-display-preview"),
    path(PROJECT + "matches", code.MatchesView.as_view(), name="api-matches"),
    path(PROJECT + "markers", markers.MarkersView.as_view(), name="api-markers"),
    path(PROJECT + "hangs", hangs.HangsView.as_view(), name="api-hangs"),
    path(PROJECT + "quality", quality.QualityView.as_view(), name="api-quality"),
    path(PROJECT + "compare", compare.CompareView.as_view(), name="api-compare"),
    path(PROJECT + "verdict", verdict.VerdictView.as_view(), name="api-verdict"),
    path(PROJECT + "savings", savings.SavingsView.as_view(), name="api-savings"),
    path(PROJECT + "vitals", vitals.VitalsView.as_view(), name="api-vitals"),
    path(PROJECT + "forced-layout", vitals.ForcedLayoutView.as_view(), name="api-forced-layout"),
    path(PROJECT + "functions/<str:func_id>/source", source.SourceView.as_view(), name="api-source"),
    path(PROJECT + "functions/<str:func_id>/breakdown", calls.BreakdownView.as_view(), name="api-breakdown"),
    path(PROJECT + "functions/<str:func_id>/callers", calls.CallersView.as_view(), name="api-callers"),
    path(PROJECT + "functions/<str:func_id>/callees", calls.CalleesView.as_view(), name="api-callees"),
    path(PROJECT + "calltree", calltree.CalltreeView.as_view(), name="api-calltree"),
    path(PROJECT + "flamegraph", flamegraph.FlamegraphView.as_view(), name="api-flamegraph"),
    path(PROJECT + "views", traces.ViewsView.as_view(), name="api-views"),
    path(PROJECT + "views/<str:view_id>/timeline", timeline.TimelineView.as_view(), name="api-timeline"),
    path(PROJECT + "traces", traces.TracesView.as_view(), name="api-traces"),
    path(PROJECT + "traces/<str:ref>", traces.TraceView.as_view(), name="api-trace"),
    path(PROJECT + "traces/<str:ref>/raw", traces.RawTraceView.as_view(), name="api-raw-trace"),
    path(PROJECT + "profile", profile.ProfileView.as_view(), name="api-profile"),
    path(PROJECT + "jobs", jobs.JobsView.as_view(), name="api-jobs"),
    path(PROJECT + "jobs/<uuid:job_id>", jobs.JobView.as_view(), name="api-job"),
    path(PROJECT + "jobs/<uuid:job_id>/result", jobs.JobResultView.as_view(), name="api-job-result"),
    path(PROJECT + "sourcemaps", sourcemaps.SourceMapsView.as_view(), name="api-sourcemaps"),
    path(PROJECT + "links", links.LinksView.as_view(), name="api-links"),
    path("api/v1/shared/<str:token>/<str:file_name>", links.SharedProfileView.as_view(), name="shared-profile"),
)
# Methods of another protocol, which its own clients know.
METHODS: dict[str, type[connect.ConnectView]] = {
    "ProfileTypes": listing.ProfileTypesView,
    "LabelNames": listing.LabelNamesView,
    "LabelValues": listing.LabelValuesView,
    "Series": listing.SeriesView,
    "GetProfileStats": listing.ProfileStatsView,
    "SelectSeries": series.SelectSeriesView,
    "SelectMergeStacktraces": stacktraces.MergeStacktracesView,
    "SelectMergeProfile": stacktraces.MergeProfileView,
    "<str:method>": connect.UnimplementedView,
}
ORGANIZATION: str = "api/0/organizations/<str:organization>/"
SENTRY_RELEASES: tuple[str, ...] = (ORGANIZATION, "api/0/projects/<str:organization>/<str:project>/")
# What Sentry's tools call, whose contract is theirs.
SENTRY_ENDPOINTS: tuple[URLPattern, ...] = (
    path("api/0/", sentry_uploads.RootView.as_view(), name="sentry-root"),
    path(ORGANIZATION + "chunk-upload/", sentry_uploads.ChunkUploadView.as_view(), name="sentry-chunks"),
    path(ORGANIZATION + "artifactbundle/assemble/", sentry_uploads.AssembleView.as_view(), name="sentry-assemble"),
    *(path(of + "releases/", sentry_uploads.ReleaseView.as_view(http_method_names=["post"])) for of in SENTRY_RELEASES),
    *(
        path(of + "releases/<path:release>/", sentry_uploads.ReleaseView.as_view(http_method_names=["put"]))
        for of in SENTRY_RELEASES
    ),
)
# Addresses of others' contracts, which the OpenAPI document leaves out.
FOREIGN: tuple[URLPattern, ...] = (
    *SENTRY_ENDPOINTS,
    *(path(QUERIER + method, view.as_view(), name="pyroscope") for method, view in METHODS.items()),
)
urlpatterns: list[URLPattern] = [
    *ENDPOINTS,
    *FOREIGN,
    path("api/v1/schema", answer_document, {"patterns": ENDPOINTS}, name="api-schema"),
]
# Last of all addresses: what leads nowhere under /api/ is answered in JSON.
fallback: URLPattern = re_path(r"^api(?:/|$)", no_such_address)
