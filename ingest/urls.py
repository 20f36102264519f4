"""The public addresses: the snippet and the demo page that records itself with it."""

from django.urls import path

from ingest.snippet.views import demo, keyed_snippet, snippet, stub

urlpatterns = [
    path("snippet.js", snippet, name="snippet"),
    path("stub.js", stub, name="stub"),
    path("snippet/<str:public_key>.js", keyed_snippet, name="keyed_snippet"),
    path("snippet/full/<str:public_key>.js", keyed_snippet, {"is_full": True}, name="full_snippet"),
    path("demo/", demo, name="demo"),
    path("demo/<str:name>", demo, name="demo_file"),
]
