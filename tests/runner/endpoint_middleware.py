"""The endpoint for requests of Django's test client, and of its live server: the product answers them before Django."""

from collections.abc import Callable

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from ingest.endpoint.requests import read_request
from ingest.endpoint.views import View, find_endpoint, take_traces

PATH = "tests.runner.endpoint_middleware.EndpointMiddleware"


class EndpointMiddleware:
    """Answers the endpoint's paths itself, and passes on all others."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        view = find_endpoint(request.path_info)
        return self.get_response(request) if view is None else answer_request(view, request)


def use_endpoint(patch: pytest.MonkeyPatch) -> None:
    """Puts the endpoint before all other middleware."""
    patch.setattr(settings, "MIDDLEWARE", [PATH, *settings.MIDDLEWARE])


def answer_request(view: View, request: HttpRequest) -> HttpResponse:
    """Answers one of Django's requests."""
    answer = view(read_request(request.META))
    response = HttpResponse(answer.content, status=answer.status)
    del response["Content-Type"]
    for name, value in answer.headers:
        response[name] = value
    response._has_been_logged = True  # type: ignore[attr-defined]  # not in the stubs: the endpoint logs no refusals
    return response


def receive_traces(request: HttpRequest) -> HttpResponse:
    """Answers a post of traces."""
    return answer_request(take_traces, request)
