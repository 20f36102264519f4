"""A small site with pages of every kind, behind the middleware of fieldflame-django."""

from collections.abc import AsyncIterator

from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
    StreamingHttpResponse,
)
from django.urls import include, path, re_path


def show(request: HttpRequest, **parts: object) -> HttpResponse:
    return HttpResponse("<p>sync")


async def show_async(request: HttpRequest) -> HttpResponse:
    return HttpResponse("<p>async")


def stream(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse(iter(["<p>", "stream"]))


async def stream_async(request: HttpRequest) -> StreamingHttpResponse:
    async def pieces() -> AsyncIterator[str]:
        yield "<p>"
        yield "stream"

    return StreamingHttpResponse(pieces())


def show_json(request: HttpRequest) -> JsonResponse:
    return JsonResponse({})


def redirect(request: HttpRequest) -> HttpResponse:
    return HttpResponseRedirect("/")


def show_own(request: HttpRequest) -> HttpResponse:
    """Sends the headers that the query names."""
    return HttpResponse("<p>", headers=request.GET.dict())


urlpatterns = [
    path("", show),
    path("product/<int:id>/", show),
    path("geschäft/<slug:name>;x", show),
    re_path(r"^old/(?P<year>[0-9]{4})/(\w+)/$", show),
    path("shop/<slug:shop>/", include([re_path(r"^item/(?P<id>\d+)$", show)])),
    path("async/", show_async),
    path("stream/", stream),
    path("stream-async/", stream_async),
    path("json/", show_json),
    path("redirect/", redirect),
    path("own/", show_own),
]
