"""Decorators of pages and their parts: who may read them, caching, and answers to bad addresses."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from django.contrib.auth.decorators import login_required, user_passes_test
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from aggregate.selectors.slice.read_context import read_context
from aggregate.selectors.slice.slices import SliceError
from dashboard.web.access import Guest
from dashboard.web.etags import find_project
from dashboard.web.load_shedding import take_place
from dashboard.web.params import ParamError
from dashboard.web.project_pages import PageTraits, View, find_traits
from dashboard.web.replica.reading import answer_from_replica


def private_page(view: View) -> View:
    """Decorates a page: it needs a login or a shared link, stays out of caches, and explains a bad address.

    Guests come only to addresses that are `for_guests` (`dashboard.web.project_pages`).
    """
    return require_safe(_guard(view, "dashboard/layout/bad_address.html", 400))


def private_part(view: View) -> View:
    """Decorates a part of a page, which htmx puts in its place. A bad slice is explained in that place too.

    A user who is no longer logged in is sent to the login as a whole page.
    """
    answer = _guard(view, "dashboard/layout/_bad_part.html", 200)

    @wraps(view)
    def answer_part(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:  # Any: a view's arguments
        if may_read(request.user) or "HX-Request" not in request.headers:
            return answer(request, *args, **kwargs)
        page = _path_of(request.headers.get("HX-Current-URL", ""))
        query = urlencode({"next": page or reverse("home")})
        return HttpResponse(headers={"HX-Redirect": f"{reverse('login')}?{query}"})

    return require_safe(answer_part)


def private_form(view: View) -> View:
    """Decorates a page with a form: it needs a login, and stays out of caches."""
    private: View = cache_control(private=True, no_cache=True)(login_required(view))
    return require_http_methods(["GET", "HEAD", "POST"])(private)


KINDS: Final[dict[str, Callable[[View], View]]] = {
    "page": private_page,
    "part": private_part,
    "form": private_form,
    "post": lambda view: require_POST(login_required(view)),
}


def project_page(*, kind: str = "page", **traits: Any) -> Callable[[View], View]:  # Any: fields of `PageTraits`
    """Makes a view a page of projects with these traits (`PageTraits`), of one of the `KINDS`."""

    def decorate(view: View) -> View:
        page = KINDS[kind](view)
        page.traits = PageTraits(**traits)  # type: ignore[attr-defined]  # views are functions, which have attributes
        return page

    return decorate


def may_read(user: object) -> bool:
    """Returns whether the reader is logged in, or a guest. Which project they see is another question."""
    return isinstance(user, Guest) or bool(getattr(user, "is_authenticated", False))


def _path_of(url: str) -> str:
    """Returns an address without its host; empty if the text is not an address."""
    try:
        return urlsplit(url)._replace(scheme="", netloc="").geturl()
    except ValueError:
        return ""


def _guard(view: View, problem_template: str, problem_status: int) -> View:
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:  # Any: a view's arguments
        try:
            with read_context():
                if find_traits(request.resolver_match).is_heavy(request):
                    take_place(request, find_project(request, kwargs["slug"]).slug)
                return answer_from_replica(request, lambda: view(request, *args, **kwargs))
        except (ParamError, SliceError) as error:
            return render(request, problem_template, {"error": error}, status=problem_status)

    guarded: View = cache_control(private=True, no_cache=True)(user_passes_test(may_read)(answer))
    return guarded
