"""The Connect protocol for single requests: a message by POST in binary or JSON, and errors with a code of Connect's.

https://connectrpc.com/docs/protocol describes it. It is the base of all methods of the service.
"""

import gzip
from typing import Any, ClassVar, Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers
from google.protobuf.message import Message
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.api.core.auth import TokenAuthentication
from dashboard.api.core.views import ProjectView
from dashboard.api.pyroscope.messages import MessageError, read_message, write_message
from dashboard.web.answers import GZIP_LEVEL
from dashboard.web.exports import accepts_gzip
from dashboard.web.load_shedding import RETRY_AFTER_S, TooManyReads
from profcore.inflating import InflateError, TooLong, inflate

JSON: Final = "application/json"
PROTO: Final = "application/proto"
# Of a request, packed and expanded. The longest is a selector of `MAX_SELECTOR_CHARS` and a list of labels.
MAX_BODY_BYTES: Final = 128 * 1024
GZIP_WINDOW: Final = 31
GZIP_FROM_BYTES: Final = 1_024  # a smaller answer is one packet anyway
# Connect's codes by HTTP status. Clients tell errors apart by the code.
CODES: Final = {
    400: "invalid_argument",
    401: "unauthenticated",
    403: "permission_denied",
    404: "not_found",
    405: "unimplemented",
    413: "resource_exhausted",
    415: "invalid_argument",
    503: "unavailable",
}


class ConnectError(APIException):
    """A request that cannot be answered: the HTTP status, and a sentence."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status_code = status


class Unimplemented(APIException):
    """What the service has and we have not. Clients go by the code; status 501 would look like a fault of ours."""

    status_code = 404
    default_code = "unimplemented"


class ConnectView(ProjectView):
    """The base of all methods. They are read by token only, by POST, and change nothing."""

    authentication_classes = [TokenAuthentication]
    only_reads = True
    message: ClassVar[str]  # the name of the method's request
    is_json: bool

    def post(self, request: Request, slug: str) -> HttpResponseBase:
        """Reads the message, and answers with another."""
        sent = request._request
        if sent.content_type not in (JSON, PROTO):
            raise ConnectError(415, f"Send {PROTO} or {JSON}.")
        self.is_json = sent.content_type == JSON
        try:
            question = read_message(self.message, _read_body(sent), is_json=self.is_json)
        except MessageError as error:
            raise ConnectError(400, str(error)) from None
        answer = self.answer(question)
        body = answer if isinstance(answer, bytes) else write_message(answer, is_json=self.is_json)
        return _write(sent, body, sent.content_type)

    def answer(self, question: Any) -> Message | bytes:  # Any: messages have no stubs
        """Returns the answer, or its bytes."""
        raise NotImplementedError

    def handle_exception(self, exc: Exception) -> Response:
        """Returns an error as Connect has it."""
        if isinstance(exc, TooManyReads):
            exc = ConnectError(503, "This server is computing as many large answers as it may at a time. Try again.")
            exc.wait = RETRY_AFTER_S  # type: ignore[attr-defined]  # as in the framework's own errors
        response = super().handle_exception(exc)
        detail = response.data["detail"] if isinstance(response.data, dict) else str(exc)
        is_missing = isinstance(exc, Unimplemented)
        code = Unimplemented.default_code if is_missing else CODES.get(response.status_code, "unknown")
        response.data = {"code": code, "message": detail}
        return response


class UnimplementedView(ConnectView):
    """Answers what the service has and we have not."""

    def post(self, request: Request, slug: str, method: str) -> HttpResponseBase:  # type: ignore[override]  # of any method
        """Says so."""
        raise Unimplemented(f"Fieldflame does not answer {method[:80]!r}.")


def _read_body(request: HttpRequest) -> bytes:
    """Returns the body, expanded. Raises `ConnectError`."""
    body: bytes = request.read(MAX_BODY_BYTES + 1)
    coding = request.headers.get("Content-Encoding", "identity").strip().lower() or "identity"
    if coding not in ("identity", "gzip"):
        raise Unimplemented(f"The compression {coding[:80]!r} is unknown; gzip and identity are known.")
    try:
        if len(body) > MAX_BODY_BYTES:
            raise TooLong
        if coding == "gzip" and body:
            return inflate(body, window=GZIP_WINDOW, max_bytes=MAX_BODY_BYTES, max_members=1)
    except TooLong:
        raise ConnectError(413, f"The body is larger than {MAX_BODY_BYTES} bytes.") from None
    except InflateError:
        raise ConnectError(400, "The gzip body is damaged.") from None
    return body


def _write(request: HttpRequest, body: bytes, kind: str) -> HttpResponse:
    is_gzip = accepts_gzip(request) and len(body) >= GZIP_FROM_BYTES
    response = HttpResponse(gzip.compress(body, GZIP_LEVEL, mtime=0) if is_gzip else body, content_type=kind)
    if is_gzip:
        response["Content-Encoding"] = "gzip"
    patch_vary_headers(response, ["Accept-Encoding", "Authorization"])
    return response
