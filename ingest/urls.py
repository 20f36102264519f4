"""The public addresses: the snippet and the demo page that records itself with it."""

from django.urls import path

from ingest.snippet.views import demo, snippet

urlpatterns = [
    path("snippet.js", snippet, name="snippet"),
    path("demo/", demo, name="demo"),
    path("demo/<str:name>", demo, name="demo_file"),
]
