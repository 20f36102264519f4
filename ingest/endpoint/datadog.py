"""Datadog's browser SDK, whose option `proxy` names an address below `/datadog/KEY`: its profiles become traces.

If `proxy` is a function, the SDK's own paths follow the key. If it is a text, the path is in the parameter `ddforward`,
and everything that the SDK sends comes here: what is no profile is dropped, or passed on if the key says so. The
contract is that of version 7 of the SDK, which sends again what was answered with 408, 429 or 5xx, and nothing else.
"""

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.core.files.uploadhandler import FileUploadHandler
from django.db import Error
from django.http.multipartparser import MultiPartParser, MultiPartParserError

from ingest.deadline import with_deadline
from ingest.endpoint.admission import ADMISSION, check_sender, find_sender, has_quota
from ingest.endpoint.forwarding import forward
from ingest.endpoint.parsing import ParsedBody, complete_views
from ingest.endpoint.posts import take_posted
from ingest.endpoint.requests import BodyTooLarge, IngestRequest, expanded, read_bounded, read_fields, skip_body
from ingest.endpoint.responses import (
    IngestResponse,
    answer,
    answer_error,
    answer_preflight,
    answer_wrong_method,
    explain_outage,
)
from ingest.limits import import_limits
from profcore.errors import Reason, TraceError
from profcore.formats.importers.completing import digest_of
from profcore.formats.importers.datadog import read_profile
from profcore.formats.importers.shapes import InputTrace, Source
from profcore.inflating import InflateError, TooLong, inflate
from projects.key_cache import KeyConfig

PROFILE_PATH: Final = "/api/v2/profile"
QUOTA_PATH: Final = "/api/v2/profiling/quota"
ALLOWED: Final = "GET, POST, OPTIONS"
ADDRESS: Final = re.compile(r"/+datadog/+([^/]+)(/.*)?", re.DOTALL)
EVENT: Final = "event"
TRACE: Final = "wall-time.json"
ZLIB_WINDOW: Final = 15  # zlib's code for "a zlib stream"
ZLIB_START: Final = b"\x78"  # nothing else says that the trace is compressed; JSON never begins so


def take_datadog(post: IngestRequest) -> IngestResponse:
    """Answers what the SDK sends: profiles are stored, the quota says whether to record, all else is dropped."""
    if post.method == "OPTIONS":
        return answer_preflight(post.wanted_headers, ALLOWED)
    try:
        public_key, path, fields = split_address(post)
    except TraceError as error:
        skip_body(post)
        return answer_error(error)
    if path == QUOTA_PATH and post.method == "GET":
        return answer_quota(post, public_key, session=fields.get("session_id", [""])[-1])
    if post.method != "POST":
        return answer_wrong_method(ALLOWED, "Profiles are posted.")
    if path == PROFILE_PATH:
        return take_posted(post, public_key, read_profiles)
    return pass_on(post, public_key)


def split_address(post: IngestRequest) -> tuple[str, str, dict[str, list[str]]]:
    """Returns the key of an address, and the SDK's own path and parameters. Raises `TraceError` for a bad query."""
    match = ADDRESS.fullmatch(post.path)
    public_key, path = (match[1], match[2] or "/") if match else ("", "/")
    fields = read_fields(post.query)
    if forward := fields.get("ddforward", [""])[-1]:
        path, _, query = forward.partition("?")
        fields = read_fields(query)
    return public_key, path.rstrip("/"), fields


def pass_on(post: IngestRequest, public_key: str) -> IngestResponse:
    """Reads a body that is no profile. It goes to the key's site of Datadog, whose status is answered.

    Without one it is dropped, and answered 202, so that the SDK does not send it again.
    """
    try:
        with with_deadline(settings.INGEST_DATABASE_WAIT_MS / 1_000):
            key = find_sender(public_key)
            check_sender(post, key)
        body = read_bounded(post.stream, declared=post.length, max_bytes=settings.INGEST_MAX_BODY_BYTES)
        if not key.forwards_to:
            return answer(202, {})
        subdomain, target = read_target(post)
        return answer(forward(post, key.forwards_to, subdomain, target, body), {})
    except TraceError as error:
        return answer_error(error)
    except Error as error:
        return answer_error(explain_outage(error))


def read_target(post: IngestRequest) -> tuple[str, str]:
    """Returns the subdomain, path and parameters that the SDK would have sent to."""
    fields = read_fields(post.query)
    if forwarded := fields.get("ddforward", [""])[-1]:
        return fields.get("ddforwardSubdomain", [""])[-1], forwarded
    match = ADDRESS.fullmatch(post.path)
    path = (match[2] if match else None) or "/"
    return "", f"{path}?{post.query}" if post.query else path


def answer_quota(post: IngestRequest, public_key: str, *, session: str) -> IngestResponse:
    """Says whether a session may record: by the project's collection, its rate and quotas. The SDK asks once."""
    try:
        with with_deadline(settings.INGEST_DATABASE_WAIT_MS / 1_000):
            key = find_sender(public_key)
            check_sender(post, key)
            reason = find_obstacle(key, session, datetime.now(UTC))
    except TraceError:
        reason = "org_disabled"
    except Error as error:
        return answer_error(explain_outage(error))
    return answer(200, {"data": {"attributes": {"admitted": reason is None, "reason": reason or "quota_ok"}}})


def find_obstacle(key: KeyConfig, session: str, at: datetime) -> str | None:
    """Returns why a session records nothing, in the SDK's words; None if it may. A rate draws sessions by their id."""
    if key.collection.off:
        return "org_disabled"
    if not has_quota(key, 1, at) or ADMISSION.find_full_quota(key, at) is not None:
        return "quota_exceeded"
    rate = key.collection.rate
    drawn = int.from_bytes(blake2b(session.encode(), digest_size=6).digest(), "big") / 2**48
    return "quota_exceeded" if rate is not None and drawn >= rate else None


@contextmanager
def read_profiles(post: IngestRequest, key: KeyConfig) -> Iterator[ParsedBody]:
    """Reads the form with an event and a trace, and yields an envelope for each page view. Raises `TraceError`."""
    sent = read_bounded(post.stream, declared=post.length, max_bytes=settings.INGEST_MAX_BODY_BYTES)
    parts = read_parts(sent, post.content_type)
    packed = parts.get(TRACE, b"")
    if not packed:
        raise TraceError(Reason.MISSING_FIELD, f"$.{TRACE}", f"The form has no part {TRACE}.")
    with expanded(
        packed,
        large_bytes=settings.INGEST_LARGE_BODY_BYTES,
        max_bytes=settings.INGEST_MAX_EXPANDED_BYTES,
        unpack=unpack if packed.startswith(ZLIB_START) else None,
    ) as trace:
        yield parse_profile(trace, parts.get(EVENT), key)


def parse_profile(body: bytes, event: bytes | None, key: KeyConfig) -> ParsedBody:
    """Returns an envelope for each page view of a profile. The same bytes give the same ones, so a resend is known."""
    source = Source(TRACE, body, import_limits())
    found = read_profile(source, event, f"$.{TRACE}")
    parsed = complete_views(
        _with_rate(found, key.collection.rate), digest=digest_of(body), sdk="datadog", whole_bytes=len(body)
    )
    parsed.is_batch = len(parsed.arrivals) + len(parsed.refused) > 1
    if not parsed.arrivals and parsed.refused:
        raise parsed.refused[0].error
    return parsed


def _with_rate(found: Iterable[InputTrace], rate: float | None) -> Iterator[InputTrace]:
    for trace in found:
        trace.draft.sampleRate = rate or 1.0
        yield trace


def unpack(packed: bytes, *, max_bytes: int) -> bytes:
    """Returns a trace that the SDK compressed. Raises `BodyTooLarge`, or `TraceError` if it is damaged."""
    try:
        return inflate(packed, window=ZLIB_WINDOW, max_bytes=max_bytes, max_members=1)
    except TooLong:
        raise BodyTooLarge("expanded", max_bytes) from None
    except InflateError:
        raise TraceError(Reason.INVALID_VALUE, f"$.{TRACE}", "The compressed trace is damaged.") from None


def read_parts(body: bytes, content_type: str) -> dict[str, bytes]:
    """Returns the files of a form by the names of their fields; the last one counts. Raises `TraceError`."""
    if not content_type.lower().startswith("multipart/form-data"):
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$", "Profiles are sent as multipart/form-data.")
    parts = PartsInMemory()
    meta = {"CONTENT_TYPE": content_type, "CONTENT_LENGTH": len(body)}
    try:
        MultiPartParser(meta, io.BytesIO(body), [parts]).parse()
    except (MultiPartParserError, SuspiciousOperation) as error:
        raise TraceError(Reason.INVALID_VALUE, "$", f"The form cannot be read: {str(error)[:200]}") from None
    return parts.files


class PartsInMemory(FileUploadHandler):
    """Keeps the files of a form in memory: the body was there already."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {}
        self._chunks: list[bytes] = []

    def new_file(self, *args: Any, **kwargs: Any) -> None:  # Any: Django's
        super().new_file(*args, **kwargs)
        self._chunks = []

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._chunks.append(raw_data)

    def file_complete(self, file_size: int) -> None:
        self.files[self.field_name] = b"".join(self._chunks)
