"""Answers to requests that are given up: 503 or 429 that says what to do, as a page, as a part of one, or as JSON."""

from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

API_PATH: Final = "/api/"
QUERIER_PATH: Final = "/querier.v1.QuerierService/"  # below a project's: its clients read the errors of Connect


def answer_later(
    request: HttpRequest,
    *,
    api_detail: str,
    page_detail: str,
    retry_after_s: int,
    title: str = "This takes too long",
    status: int = 503,
) -> HttpResponse:
    """Returns the answer for a browser or a client. A part of a page says it in its place, with status 200."""
    if request.path_info.startswith(API_PATH):
        is_querier = QUERIER_PATH in request.path_info
        words = {"code": "unavailable", "message": api_detail} if is_querier else {"detail": api_detail}
        return JsonResponse(words, status=status, headers={"Retry-After": str(retry_after_s)})
    values = {"error": {"detail": page_detail}, "title": title}
    if "HX-Request" in request.headers:
        return render(request, "dashboard/layout/_bad_part.html", values)
    answer = render(request, "dashboard/layout/slow.html", values, status=status)
    answer["Retry-After"] = str(retry_after_s)
    return answer
