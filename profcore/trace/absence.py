"""Absence: a page view's report that it recorded nothing, and why. Values only, under bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from profcore.errors import Reason, TraceError
from profcore.surrogates import replace_halves
from profcore.trace.routes import clean_page, route_of_url
from profcore.trace.wire import UNREADABLE, explain

# A code is an index into the tuple and is stored: append, never reorder.
ABSENCE_REASONS: Final = (
    "no-api",
    "no-header",
    "header-lost",
    "constructor",
    "csp",
    "twice",
    "consent",
    "cost",
    "status",
)
# Statuses that are told apart, so that a stranger makes few rows. Others count as 0.
KNOWN_STATUSES: Final = frozenset({400, 401, 403, 404, 405, 408, 413, 415, 429, 500, 502, 503, 504})
LEAST_RATE: Final = 0.001  # a report stands for a thousand views at most, whatever rate it names


class AbsenceBody(msgspec.Struct, gc=False, kw_only=True):
    """A report as it was sent. Names are those of the wire (docs/ingest.md)."""

    reason: str
    release: str | None = None
    page: str | None = None
    url: str | None = None
    rate: float = 1.0
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """A checked report: the page it belongs to, the code of its reason, and the number of views it stands for."""

    page: str
    reason: int
    status: int
    views: int


_decoder = msgspec.json.Decoder(AbsenceBody)


def decode_absence(body: bytes) -> AbsenceBody:
    """Returns a report from its JSON. Raises `TraceError`."""
    if not body.strip():
        raise TraceError(Reason.EMPTY_BODY, "$", "The body is empty.")
    try:
        return _decoder.decode(replace_halves(body))
    except UNREADABLE as error:
        raise explain(error) from None


def decode_absence_fields(fields: dict[str, str]) -> AbsenceBody:
    """Returns a report from query parameters. Raises `TraceError`."""
    known = {name: text for name, text in fields.items() if name in AbsenceBody.__struct_fields__}
    try:
        return msgspec.convert(known, AbsenceBody, strict=False)
    except msgspec.ValidationError as error:
        raise explain(error) from None


def check_absence(
    sent: AbsenceBody, rules: Sequence[str], *, text_chars: int, page_chars: int, url_chars: int
) -> Absence:
    """Returns a checked report, with the page by the project's route rules. Raises `TraceError`."""
    if sent.reason not in ABSENCE_REASONS:
        detail = f"The reason must be one of {', '.join(ABSENCE_REASONS)}."
        raise TraceError(Reason.INVALID_VALUE, "$.reason", detail)
    if not 0 < sent.rate <= 1:
        raise TraceError(Reason.OUT_OF_RANGE, "$.rate", "The rate must be above 0 and at most 1.")
    if sent.status is not None and not 0 <= sent.status <= 999:
        raise TraceError(Reason.OUT_OF_RANGE, "$.status", "The status must be from 0 to 999.")
    check_text(sent.release, text_chars, "$.release")
    check_text(sent.page, page_chars, "$.page")
    check_text(sent.url, url_chars, "$.url")
    if not sent.page and not sent.url:
        raise TraceError(Reason.MISSING_PAGE, "$.page", "The report needs `page` or `url`.")
    tells_status = sent.reason == "status" and sent.status in KNOWN_STATUSES
    return Absence(
        page=clean_page(sent.page) if sent.page else route_of_url(sent.url or "", rules),
        reason=ABSENCE_REASONS.index(sent.reason),
        status=sent.status or 0 if tells_status else 0,
        views=round(1 / max(sent.rate, LEAST_RATE)),
    )


def check_text(text: str | None, most: int, path: str) -> None:
    """Raises `TraceError` for a text of more than `most` characters, or with one that cannot be stored."""
    if text is None:
        return
    if len(text) > most:
        raise TraceError(Reason.TOO_LONG, path, f"The text has {len(text)} characters; at most {most} are accepted.")
    if "\0" in text:
        raise TraceError(Reason.INVALID_VALUE, path, "The text contains a NUL character.")
