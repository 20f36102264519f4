"""All addresses: the endpoint and the snippet, the pages and the read API, and those for monitors."""

from django.urls import include, path

from ops.telemetry.health import healthz, metrics, readyz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("", include("ingest.urls")),
    path("", include("dashboard.urls")),
]
