"""ETags: what has not changed is not sent again, but answered 304 to clients that already have it.

An ETag is right if the body depends only on the address, the person, the project's data and settings, and the server's
code and settings. Ages are written by a script (times.js), and a CSRF token is valid as long as its cookie, so neither
changes a page. "Last 24 hours" counts from the full hour, so an ETag is valid for one hour at most.
"""

from collections.abc import Callable
from functools import cache, wraps
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypeVar

from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.crypto import salted_hmac

from aggregate.selectors.project.fingerprints import fingerprint_project, with_surroundings
from aggregate.selectors.slice.read_context import keep_answer
from dashboard.web.access import get_visible_project
from dashboard.web.replica.reading import replica_lag_s
from projects.models import Project

Page = Callable[..., HttpResponse]
Answer = TypeVar("Answer", bound=HttpResponseBase)
CODE_FOLDERS: Final = (
    *("aggregate", "alerts", "config", "dashboard", "ingest", "ops", "profcore", "projects"),
    "requirements",
)
CODE_SUFFIXES: Final = frozenset({".py", ".html", ".js", ".css", ".txt"})
PLAIN: Final = (str, int, float, bool, tuple, list, Path, type(None))


def answer_unchanged(view: Page) -> Page:
    """Decorates a project's page so that it answers 304 if nothing has changed. It goes below `private_page`.

    The check takes at most four statements. There is no ETag without a CSRF cookie (the first page sets it), with a
    message about a form, or while debugging, when templates change at any time.
    """

    @wraps(view)
    def answer(request: HttpRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponse:  # Any: a view's arguments
        secret = request.META.get("CSRF_COOKIE")
        if settings.DEBUG or not secret or len(get_messages(request)):
            return view(request, slug, *args, **kwargs)
        etag = make_page_etag(request, slug, str(secret))
        return answer_if_changed(request, etag, lambda: view(request, slug, *args, **kwargs))

    return answer


def make_etag(*parts: object) -> str:
    """Returns the weak ETag of an answer that these parts decide. It is keyed, since parts may hold secrets."""
    return f'W/"{salted_hmac("dashboard.web.etags", repr(parts)).hexdigest()}"'


def answer_if_changed(request: HttpRequest, etag: str, make: Callable[[], Answer]) -> Answer | HttpResponse:
    """Returns what `make` returns, or 304 if the client has the answer of this ETag already."""
    response: Answer | HttpResponse | None = get_conditional_response(request, etag=etag)
    if response is None:
        response = make()
    if response.status_code in (200, 304):
        response["ETag"] = etag
    return response


def find_project(request: HttpRequest, slug: str) -> Project:
    """Returns the project of a page, with what its ETag needs. Raises `Http404` if the reader cannot see it."""
    project = get_visible_project(request.user, slug, read=with_surroundings)
    keep_answer(get_visible_project, project, request.user, slug)
    return project


def make_page_etag(request: HttpRequest, slug: str, secret: str) -> str:
    """Returns the weak ETag of a page for one person. Raises `Http404` if they cannot see the project."""
    lag_s = replica_lag_s(request)
    if lag_s is None:
        project: Project | None = find_project(request, slug)
    else:  # what the page will show is read there too
        visible = get_visible_project(request.user, slug)
        project = with_surroundings(Project.objects.filter(pk=visible.pk)).first()
    parts = (
        request.build_absolute_uri(),
        secret,  # the CSRF cookie, which belongs to the token in the body; each login sets a new one
        request.user.pk,
        request.user.get_username(),
        getattr(request.user, "is_superuser", False),
        timezone.now().replace(minute=0, second=0, microsecond=0),
        project and fingerprint_project(project),
        fingerprint_server(),
        lag_s,
    )
    return make_etag(*parts)


@cache
def fingerprint_server() -> str:
    """Returns a digest of the server's code, templates, scripts, libraries and settings; equal on all hosts."""
    hasher = blake2b(digest_size=16)
    for folder in CODE_FOLDERS:
        for path in sorted((Path(settings.BASE_DIR) / folder).rglob("*")):
            if path.suffix in CODE_SUFFIXES and path.is_file():
                hasher.update(f"{path.relative_to(settings.BASE_DIR)}\0".encode() + path.read_bytes())
    for name in sorted(dir(settings)):
        if name.isupper() and isinstance(value := getattr(settings, name), PLAIN):
            hasher.update(f"{name}={value!r}\0".encode())
    return hasher.hexdigest()
