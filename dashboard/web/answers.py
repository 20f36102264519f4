"""Large JSON answers: 304 for clients that already have them, gzip for clients that accept it."""

import gzip
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder

from dashboard.web.etags import answer_if_changed, make_etag
from dashboard.web.exports import EXPORT_VERSION, accepts_gzip

Json = dict[str, object]

GZIP_LEVEL: Final = 5  # for a tree of 20,000 nodes, level 6 takes 1.5 times as long and saves 2 %


def write_json(answer: object) -> bytes:
    """Returns an answer as JSON. A number that is not finite becomes null.

    The standard library took a quarter of the time of a page's functions for it, msgspec takes a hundredth.
    """
    return ENCODER.encode(answer)


def _as_known(value: Any) -> Any:  # Any: whatever an answer has
    """Returns a value of a type that JSON does not know as the framework writes it, such as its texts of errors."""
    return str.__str__(value) if isinstance(value, str) else JSONEncoder().default(value)


ENCODER: Final = msgspec.json.Encoder(enc_hook=_as_known, decimal_format="number")


class JsonRenderer(JSONRenderer):
    """Writes the answers of the read API."""

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:  # Any: as in DRF's stubs
        """Returns the JSON of an answer, nothing for an answer without content."""
        return b"" if data is None else write_json(data)


def answer_json(request: HttpRequest, *, key: tuple[object, ...], make: Callable[[], object]) -> HttpResponse:
    """Returns what `make` returns as JSON, or 304. Equal keys mean equal answers."""
    is_gzip = accepts_gzip(request)

    def write() -> HttpResponse:
        body = write_json(make())
        response = HttpResponse(gzip.compress(body, GZIP_LEVEL, mtime=0) if is_gzip else body)
        response["Content-Type"] = "application/json"
        if is_gzip:
            response["Content-Encoding"] = "gzip"
        return response

    response = answer_if_changed(request, make_etag(EXPORT_VERSION, is_gzip, key), write)
    patch_vary_headers(response, ["Accept-Encoding", "Authorization", "Cookie"])
    return response
