"""Reports of the Reporting API (application/reports+json): those of type `crash` say that a page hung or crashed.

Source: WICG Crash Reporting, and Chromium's `javascript_call_stack_collector.h` for the sentences in place of a stack.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final
from uuid import UUID

import msgspec

from profcore.errors import Reason, TraceError
from profcore.hangs.stacks import CallFrame, parse_stack
from profcore.surrogates import replace_halves
from profcore.trace.absence import check_text
from profcore.trace.funcs import clean_url
from profcore.trace.routes import clean_page, route_of_url
from profcore.trace.wire import UNREADABLE, explain

CRASH: Final = "crash"  # the only type of report that counts
MAX_REPORTS: Final = 20  # of a post: a browser that was offline sends some
MAX_AGE_MS: Final = 7 * 86_400_000  # as page views; browsers keep reports for two days at most
# A code is an index into the tuple and is stored: append, never reorder. The first is a crash for no stated reason.
HANG_REASONS: Final = ("crash", "oom", "unresponsive")
UNRESPONSIVE: Final = HANG_REASONS.index("unresponsive")
# Why a report has no stack; stored likewise. The first means that it has one.
STACK_STATES: Final = ("there", "absent", "not-opted-in", "extension", "uncollected")
STATE_OF_SENTENCE: Final = {
    "Website owner has not opted in for JS call stacks in crash reports.": "not-opted-in",
    "Stack omitted due to extension script frames.": "extension",
    "Unable to collect JS call stack.": "uncollected",
}
SIGNATURE_FRAMES: Final = 10  # the innermost ones, which tell hangs apart; browsers write as many by default
SIGNATURE_BYTES: Final = 16


class Report(msgspec.Struct, gc=False, kw_only=True):
    """A report as it was sent: of the body only its text. Names are those of the wire."""

    type: str
    url: str = ""
    age: float = 0
    body: msgspec.Raw = msgspec.Raw(b"null")


class CrashContext(msgspec.Struct, gc=False, kw_only=True):
    """What a page's scripts said before (`crashReport.set("release", …)`). All else that they said is not read."""

    release: str | None = None
    page: str | None = None


class CrashBody(msgspec.Struct, gc=False, kw_only=True):
    """The body of a crash report."""

    reason: str | None = None
    stack: str | None = None
    crash_report_api: CrashContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """A checked crash report: the page that it is about, how old it is, why it crashed, and the call stack, if any.

    `release` is "" if nothing names it. `reason` and `stack_state` are codes. `signature` is the same for equal stacks.
    """

    release: str
    page: str
    age_ms: int
    reason: int
    stack_state: int
    frames: Sequence[CallFrame]
    signature: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """What a post has: crash reports as sent, with their number in the post, and how many others were ignored."""

    crashes: Sequence[tuple[int, Report]]
    ignored: int


_decoder = msgspec.json.Decoder(list[Report])
_body_decoder = msgspec.json.Decoder(CrashBody | None)


def decode_reports(body: bytes) -> Reports:
    """Returns the reports of a post. Raises `TraceError`."""
    if not body.strip():
        raise TraceError(Reason.EMPTY_BODY, "$", "The body is empty.")
    try:
        reports = _decoder.decode(replace_halves(body))
    except UNREADABLE as error:
        raise explain(error) from None
    if len(reports) > MAX_REPORTS:
        detail = f"The post has {len(reports)} reports; at most {MAX_REPORTS} are accepted."
        raise TraceError(Reason.TOO_MANY, "$", detail)
    crashes = [(number, report) for number, report in enumerate(reports) if report.type == CRASH]
    return Reports(crashes=crashes, ignored=len(reports) - len(crashes))


def check_crash(
    number: int, report: Report, rules: Sequence[str], named: CrashContext, *, text_chars: int, page_chars: int
) -> Hang:
    """Returns a checked crash report of a post. Raises `TraceError`, with the report's number in its path.

    The page's scripts say of which release and page it is; if not, the address of the post does (`named`); and then
    the page is the route of the report's URL.
    """
    path = f"$[{number}]"
    if not report.url:
        raise TraceError(Reason.MISSING_FIELD, f"{path}.url", "The report needs `url`.")
    check_text(report.url, len(report.url), f"{path}.url")
    body = _read_body(report, f"{path}.body")
    said = body.crash_report_api or CrashContext()
    check_text(said.release, text_chars, f"{path}.body.crash_report_api.release")
    check_text(said.page, page_chars, f"{path}.body.crash_report_api.page")
    page = clean_page(name) if (name := said.page or named.page) else route_of_url(report.url, rules)
    state, frames = _read_stack(body.stack, report.url, page)
    return Hang(
        release=said.release or named.release or "",
        page=page,
        age_ms=round(min(max(report.age, 0), MAX_AGE_MS)),
        reason=HANG_REASONS.index(body.reason) if body.reason in HANG_REASONS else 0,
        stack_state=STACK_STATES.index(state),
        frames=frames,
        signature=sign_frames(frames),
    )


def sign_frames(frames: Sequence[CallFrame]) -> UUID:
    """Returns a digest of the innermost frames, with their positions."""
    hasher = blake2b(digest_size=SIGNATURE_BYTES)
    for frame in frames[:SIGNATURE_FRAMES]:
        for part in (frame.name, frame.uri or "", str(frame.line), str(frame.column), str(frame.is_eval)):
            text = part.encode("utf-8", "surrogatepass")
            hasher.update(b"%d:" % len(text) + text)
    return UUID(bytes=hasher.digest())


def _read_body(report: Report, path: str) -> CrashBody:
    try:
        return _body_decoder.decode(report.body) or CrashBody()
    except UNREADABLE as error:
        fault = explain(error)
        raise TraceError(fault.reason, path + fault.path.removeprefix("$"), fault.detail) from None


def _read_stack(text: str | None, url: str, page: str) -> tuple[str, Sequence[CallFrame]]:
    """Returns the state of a stack and its frames."""
    if not text:
        return "absent", ()
    if (state := STATE_OF_SENTENCE.get(text.strip())) is not None:
        return state, ()
    frames = parse_stack(text, page_url=clean_url(url), page=page)
    return ("there", frames) if frames else ("uncollected", ())
