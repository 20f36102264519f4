"""Pages that have not changed are not sent again: ETags, and 304 for who has the page already.

Right for pages whose body is decided by the address, the person, the project's data and settings, and the server's own
code and settings. Ages are told by a script (times.js), a body's CSRF token is good as long as its cookie: neither
changes a page. "Last 24 hours" counts from the hour, which is why a page is of its hour at most.
"""

from collections.abc import Callable
from functools import cache, wraps
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.crypto import salted_hmac

from aggregate.selectors.fingerprints import fingerprint_project
from dashboard.access import get_visible_project

Page = Callable[..., HttpResponse]
CODE_FOLDERS: Final = ("aggregate", "config", "dashboard", "ingest", "profcore", "requirements")
CODE_SUFFIXES: Final = frozenset({".py", ".html", ".js", ".css", ".txt"})
PLAIN: Final = (str, int, float, bool, tuple, list, Path, type(None))


def answer_unchanged(view: Page) -> Page:
    """Makes a view of a project answer 304 where nothing that decides its page has changed. Goes below `private_page`.

    Four statements at most are asked for it. There is no ETag without a CSRF cookie, which the first page sets, none
    of a page that tells what a form has just done, and none while debugging, where templates change at any time.
    """

    @wraps(view)
    def answer(request: HttpRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponse:  # Any: a view's arguments
        secret = request.META.get("CSRF_COOKIE")
        if settings.DEBUG or not secret or len(get_messages(request)):
            return view(request, slug, *args, **kwargs)
        etag = make_page_etag(request, slug, str(secret))
        response: HttpResponse | None = get_conditional_response(request, etag=etag)
        if response is None:
            response = view(request, slug, *args, **kwargs)
        if response.status_code in (200, 304):
            response["ETag"] = etag
        return response

    return answer


def make_page_etag(request: HttpRequest, slug: str, secret: str) -> str:
    """Returns the weak ETag of a page as somebody sees it now. Raises `Http404` for who may not see the project."""
    project = get_visible_project(request.user, slug)
    facts = (
        request.build_absolute_uri(),
        secret,  # of the cookie that the body's token goes with: another one after each login
        request.user.pk,
        request.user.get_username(),
        getattr(request.user, "is_superuser", False),
        timezone.now().replace(minute=0, second=0, microsecond=0),
        fingerprint_project(project.pk),
        fingerprint_server(),
    )
    return f'W/"{salted_hmac("dashboard.unchanged", repr(facts)).hexdigest()}"'


@cache
def fingerprint_server() -> str:
    """Returns what changes with the server's code, templates, scripts, libraries and settings; equal on all hosts."""
    hasher = blake2b(digest_size=16)
    for folder in CODE_FOLDERS:
        for path in sorted((Path(settings.BASE_DIR) / folder).rglob("*")):
            if path.suffix in CODE_SUFFIXES and path.is_file():
                hasher.update(f"{path.relative_to(settings.BASE_DIR)}\0".encode() + path.read_bytes())
    for name in sorted(dir(settings)):
        if name.isupper() and isinstance(value := getattr(settings, name), PLAIN):
            hasher.update(f"{name}={value!r}\0".encode())
    return hasher.hexdigest()
