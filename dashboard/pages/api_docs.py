"""The page that shows the OpenAPI document."""

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
@csp_update({"img-src": ["data:"]})  # Swagger's style sheet draws its arrows from data: images
def show_api_docs(request: HttpRequest) -> HttpResponse:
    return render(request, "dashboard/api/docs.html")
