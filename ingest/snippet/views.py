"""The snippet for any site, and a demo page that records itself with it: fixed files, without any query."""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

SNIPPET_PATH = Path(__file__).parent / "dist" / "snippet.js"
STUB_PATH = SNIPPET_PATH.with_name("stub.js")
DEMO_DIR = Path(__file__).parent / "demo_site"

# An hour: a site that includes the snippet gets a new version soon, and its visitors fetch it at most once per visit.
SNIPPET_CACHE_CONTROL = "public, max-age=3600, stale-while-revalidate=86400"
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


@dataclass(frozen=True, slots=True)
class FixedFile:
    """A file's bytes, plain and gzipped, with the digest for its ETags."""

    plain: bytes
    zipped: bytes
    digest: str


@cache
def read_fixed_file(path: Path) -> FixedFile:
    """Returns the file of `path`, read once per process. The gzip stream has no time, so it is the same in all."""
    plain = path.read_bytes()
    return FixedFile(plain, gzip.compress(plain, 9, mtime=0), hashlib.sha256(plain).hexdigest()[:32])


def answer_fixed_file(request: HttpRequest, path: Path, content_type: str) -> HttpResponse:
    """Returns the file, gzipped if the browser accepts that, or a 304 if the browser already has it."""
    fixed = read_fixed_file(path)
    is_zipped = "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(fixed.zipped if is_zipped else fixed.plain, content_type=content_type)
    if is_zipped:
        response["Content-Encoding"] = "gzip"
    patch_vary_headers(response, ["Accept-Encoding"])
    # Two representations need two ETags, or a shared cache could hand one out as the other.
    response["ETag"] = quote_etag(fixed.digest + ("-gz" if is_zipped else ""))
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
    response = answer_fixed_file(request, SNIPPET_PATH, "text/javascript; charset=utf-8")
    response["Cache-Control"] = SNIPPET_CACHE_CONTROL
    response["Access-Control-Allow-Origin"] = "*"
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    response["Timing-Allow-Origin"] = "*"
    return answer_if_changed(request, response)


@require_safe
def demo(request: HttpRequest, name: str = "") -> HttpResponse:
    if name not in DEMO_FILES:
        return HttpResponseNotFound("The demo page has no such file.\n", content_type="text/plain; charset=utf-8")
    file_name, content_type = DEMO_FILES[name]
    response = answer_fixed_file(request, DEMO_DIR / file_name, content_type)
    response["Cache-Control"] = "no-cache"
    response["Document-Policy"] = "js-profiling"
    response["Content-Security-Policy"] = DEMO_POLICY
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return answer_if_changed(request, response)
