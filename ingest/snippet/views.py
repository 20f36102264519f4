"""The snippet for any site, plain or with a project's settings inside, and a demo page that records itself with it.

The plain snippet and the demo are fixed files, without any query.
"""

from pathlib import Path

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from ingest.deadline import drop_silent_connection, with_deadline
from ingest.snippet.files import FixedFile, choose_coding, fill_settings, read_fixed_file, read_snippet
from profcore.trace.collection import encode_for_snippet, write_for_script
from projects.key_cache import KeyConfig, find_key

SNIPPET_PATH = Path(__file__).parent / "dist" / "snippet.js"
FULL_PATH = SNIPPET_PATH.with_name("full.js")
STUB_PATH = SNIPPET_PATH.with_name("stub.js")
DEMO_DIR = Path(__file__).parent / "demo_site"

# An hour: a site that includes the snippet gets a new version soon, and its visitors fetch it at most once per visit.
SNIPPET_CACHE_CONTROL = "public, max-age=3600, stale-while-revalidate=86400"
# With a project's settings inside: a change of them, such as switching recording off, reaches pages so soon. A cache
# that gets no answer goes on with what it has, for a day.
KEYED_CACHE_CONTROL = "public, max-age=300, stale-if-error=86400"
UNKNOWN_CACHE_CONTROL = "public, max-age=60"  # a key that was just created, or mistyped
UNKNOWN_SETTINGS = {"off": True}
# Until a project has its first trace, every view reports why it recorded nothing: someone is waiting for it.
FIRST_ABSENT_RATE = 1.0
# A closed table, so that no path of a request ever reaches the file system.
DEMO_FILES = {
    "": ("index.html", "text/html; charset=utf-8"),
    "demo.css": ("demo.css", "text/css; charset=utf-8"),
    "status.js": ("status.js", "text/javascript; charset=utf-8"),
    "work.js": ("work.js", "text/javascript; charset=utf-8"),
}
DEMO_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src data:",  # the empty icon, which saves a request for one
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


def answer_file(request: HttpRequest, fixed: FixedFile, content_type: str) -> HttpResponse:
    """Returns a file, packed as the browser accepts it. Call `answer_if_changed` once all headers are set."""
    coding = choose_coding(request.headers.get("Accept-Encoding", ""))
    response = HttpResponse(fixed.bodies[coding], content_type=content_type)
    if coding:
        response["Content-Encoding"] = coding
    patch_vary_headers(response, ["Accept-Encoding"])
    # Each representation needs an ETag of its own, or a shared cache could hand one out as another.
    response["ETag"] = quote_etag(f"{fixed.digest}-{coding}" if coding else fixed.digest)
    return response


def answer_if_changed(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Returns a finished 200, or a 304 if the request's ETag matches. Call it once all headers are set.

    The 304 repeats the policies. A cache replaces its stored headers by those of the 304, and a middleware would add
    the site's own policy if one is missing.
    """
    answer = get_conditional_response(request, etag=response["ETag"], response=response)
    assert isinstance(answer, HttpResponse)
    if answer is not response:
        for name, value in response.items():
            if not name.startswith("Content-") or name == "Content-Security-Policy":
                answer[name] = value
    return answer


@require_safe
def snippet(request: HttpRequest) -> HttpResponse:
    return answer_snippet(request, read_snippet(SNIPPET_PATH, settings.URL_PATH), SNIPPET_CACHE_CONTROL)


@require_safe
def stub(request: HttpRequest) -> HttpResponse:
    """Answers the text that pages hold in their head."""
    return answer_snippet(request, read_fixed_file(STUB_PATH), SNIPPET_CACHE_CONTROL)


@require_safe
def keyed_snippet(request: HttpRequest, public_key: str, *, is_full: bool = False) -> HttpResponse:
    """Answers the snippet with the settings of a key's project inside; an unknown key's says to record nothing.

    It is the full core if `is_full`, or if the settings need that.
    """
    try:
        with with_deadline(settings.INGEST_DATABASE_WAIT_MS / 1_000):
            key = find_key(public_key)
    except Error as error:
        drop_silent_connection(error)
        response = HttpResponse("The database does not answer.\n", status=503, content_type="text/plain; charset=utf-8")
        response["Cache-Control"] = "no-store"
        response["Retry-After"] = "10"
        return response
    inside = write_for_script(UNKNOWN_SETTINGS if key is None or key.is_archived else choose_settings(key))
    cache_control = UNKNOWN_CACHE_CONTROL if key is None else KEYED_CACHE_CONTROL
    path = FULL_PATH if is_full or (key is not None and key.collection.needs_full) else SNIPPET_PATH
    return answer_snippet(request, fill_settings(path, inside, settings.URL_PATH), cache_control)


def choose_settings(key: KeyConfig) -> dict[str, object]:
    """Returns the settings object for the pages of a key's project."""
    return encode_for_snippet(key.collection, absent_rate=None if key.has_traces else FIRST_ABSENT_RATE)


def answer_snippet(request: HttpRequest, fixed: FixedFile, cache_control: str) -> HttpResponse:
    """Returns a snippet that any site may include."""
    response = answer_file(request, fixed, "text/javascript; charset=utf-8")
    response["Cache-Control"] = cache_control
    response["Access-Control-Allow-Origin"] = "*"
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    response["Timing-Allow-Origin"] = "*"
    return answer_if_changed(request, response)


@require_safe
def demo(request: HttpRequest, name: str = "") -> HttpResponse:
    if name not in DEMO_FILES:
        return HttpResponseNotFound("The demo page has no such file.\n", content_type="text/plain; charset=utf-8")
    file_name, content_type = DEMO_FILES[name]
    response = answer_file(request, read_fixed_file(DEMO_DIR / file_name), content_type)
    response["Cache-Control"] = "no-cache"
    response["Document-Policy"] = "js-profiling"
    response["Content-Security-Policy"] = DEMO_POLICY
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return answer_if_changed(request, response)
