"""The dashboard's pages: decode the address, ask the selectors, render."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode, urlsplit

from csp.decorators import csp_update
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from aggregate.selectors import (
    Slice,
    SliceError,
    resolve_slice,
)
from aggregate.selectors.slices import DISPLAY, FINE_FIELDS, SLICE_FIELDS
from dashboard.params import Narrowing, ParamError, read_slice_query
from dashboard.shell import EVERY_FUNCTION, join_pairs
from ingest.models import Project

Page = Callable[..., HttpResponse]


class LogIn(LoginView):
    """Asks for a name and a password; who is logged in already goes on."""

    template_name = "dashboard/login.html"
    redirect_authenticated_user = True


def private_page(view: Page) -> Page:
    """Makes a view one for people who are logged in, not to be kept by caches, with a plain answer to a bad address."""
    return require_safe(_guard(view, "dashboard/bad_address.html", 400))


def private_part(view: Page) -> Page:
    """Makes a view that of a part of a page, which htmx puts in its place: so are the words about a slice it refuses.

    Who is no longer logged in is sent to the login with the whole page.
    """
    answer = _guard(view, "dashboard/_bad_part.html", 200)

    @wraps(view)
    def answer_part(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:  # Any: a view's arguments
        if request.user.is_authenticated or "HX-Request" not in request.headers:
            return answer(request, *args, **kwargs)
        page = _path_of(request.headers.get("HX-Current-URL", ""))
        return HttpResponse(headers={"HX-Redirect": f"{reverse('login')}?{urlencode({'next': page or '/'})}"})

    return require_safe(answer_part)


def _path_of(url: str) -> str:
    """Returns an address without its host; nothing of a text that is none."""
    try:
        return urlsplit(url)._replace(scheme="", netloc="").geturl()
    except ValueError:
        return ""


def _guard(view: Page, problem_template: str, problem_status: int) -> Page:
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:  # Any: a view's arguments
        try:
            return view(request, *args, **kwargs)
        except (ParamError, SliceError) as error:
            return render(request, problem_template, {"error": error}, status=problem_status)

    guarded: Page = cache_control(private=True, no_cache=True)(login_required(answer))
    return guarded


@require_safe
@csp_update({"img-src": ["data:"]})  # Swagger's style sheet draws its arrows from data: images
def show_api_docs(request: HttpRequest) -> HttpResponse:
    return render(request, "dashboard/api_docs.html")


def read_page_slice(request: HttpRequest, project: Project) -> Slice:
    """Returns the slice in a page's address. Unknown parameters are let pass; empty ones, as forms send, mean all.

    Several tags may come in one field, as people write them, apart by spaces.
    """
    params = QueryDict(mutable=True)
    for field in (*SLICE_FIELDS, *FINE_FIELDS, DISPLAY):
        params.setlist(field, [value for value in request.GET.getlist(field) if value])
    params.setlist("tag", [tag for value in params.getlist("tag") for tag in value.split()])
    return resolve_slice(project.pk, read_slice_query(params))


def make_query(slice_: Slice, narrowing: Narrowing = EVERY_FUNCTION, **more: str) -> str:
    """Returns the query string of a slice, of which functions of it are shown, and what more is asked of its page."""
    return join_pairs([*slice_.params(), *narrowing.params(), *more.items()])
