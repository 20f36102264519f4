"""Checks of the page's header, of what the server announces about it, and of cross-origin isolation."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from aggregate.doctor.findings import HEADER_LINE, Finding, ok, problem, quote, warning
from aggregate.doctor.structured import StructuredError, read_dictionary
from aggregate.doctor.visiting import Hop, VisitResult

POLICY: Final = "document-policy"
WRONG_HEADERS: Final = (
    "permissions-policy",
    "feature-policy",
    "document-policy-report-only",
    "require-document-policy",
)
METRIC: Final = re.compile(r'(?:^|,)\s*ff\s*(?:;\s*dur=[\d.]+\s*)?;\s*desc=(?:"((?:[^"\\]|\\.)*)"|([^\s,;"]+))')


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a server says of its own header, by the metric `ff` of Server-Timing; `fault` is a sentence or empty."""

    values: dict[str, str]
    fault: str = ""

    @property
    def is_on(self) -> bool:
        """Returns whether the server says that it sent the header."""
        return self.values.get("on") == "1"

    @property
    def rate(self) -> float:
        """The announced share of pages with the header; 1 if there is none."""
        try:
            return float(self.values.get("rate", "1"))
        except ValueError:
            return 1.0


def check_headers(result: VisitResult) -> Iterator[Finding]:
    """Yields the findings about the headers of both visits."""
    page = result.hops[-1] if result.hops and not result.failure else None
    again = result.cookie_hops[-1] if result.cookie_hops and not result.cookie_failure else None
    if page is not None:
        yield from check_policy("header", page, result.hops[:-1], "")
    if again is not None:
        yield from check_policy("header-cookies", again, result.cookie_hops[:-1], ", with the cookies that it sets,")
    elif not result.has_cookies:
        yield ok("header-cookies", "The page sets no cookies, so there is one kind of answer only.")
    for hop in filter(None, (page, again)):
        yield from find_mistakes(hop, result)
        break
    for hop in filter(None, (page, again)):
        yield from check_announcement(hop)
        break
    for hop in filter(None, (page, again)):
        yield check_isolation(hop)
        break


def check_policy(check: str, page: Hop, before: Sequence[Hop], when: str) -> Iterator[Finding]:
    """Yields what is wrong with the header of a page; the answers before it only redirected."""
    text = page.header(POLICY)
    announced = read_announcement(page)
    if not page.lines(POLICY):
        if announced and not announced.fault and not announced.is_on:
            yield ok(
                check, f"The page{when} came without the header: the server sends it on a share of its pages only."
            )
            return
        hint = (
            " A redirect on the way has it, but only the page’s own header counts."
            if any("js-profiling" in hop.header(POLICY) for hop in before)
            else ""
        )
        yield problem(
            check, f"The page{when} comes without Document-Policy, so no browser records it.{hint}", line=HEADER_LINE
        )
        return
    try:
        members = read_dictionary(text)
    except StructuredError as error:
        yield problem(
            check,
            f"Browsers ignore the whole Document-Policy {quote(text)}: {error} at character {error.at + 1}.",
            line=HEADER_LINE,
        )
        return
    if "js-profiling" not in members:
        yield problem(
            check, f"The Document-Policy of the page{when} lacks js-profiling: {quote(text)}.", line=HEADER_LINE
        )
    elif members["js-profiling"] is not True:
        yield problem(
            check,
            f"Document-Policy {quote(text)} switches js-profiling off: the name has to be without a value.",
            line=HEADER_LINE,
        )
    elif members.get("js-profiling-mode") != "lazy":
        yield ok(
            check,
            f"The page{when} has the header. The mode “lazy” is recommended with it, for newer browsers.",
            line=HEADER_LINE,
        )
    else:
        yield ok(check, f"The page{when} has the header.")


def find_mistakes(page: Hop, result: VisitResult) -> Iterator[Finding]:
    """Yields headers and tags in which js-profiling has no effect."""
    has_header = bool(page.lines(POLICY))
    make = warning if has_header else problem
    for name in WRONG_HEADERS:
        if "js-profiling" in page.header(name):
            yield make("header-place", f"js-profiling has no effect in the header {name.title()}.", line=HEADER_LINE)
    metas = result.markup.metas if result.markup else []
    if any(name == POLICY for name, _ in metas):
        yield make(
            "header-place", "Browsers ignore Document-Policy in <meta>: it has to be a header.", line=HEADER_LINE
        )


def read_announcement(page: Hop) -> Announcement | None:
    """Returns what the server announces; None if it announces nothing."""
    match = METRIC.search(page.header("server-timing"))
    if match is None:
        return None
    values: dict[str, str] = {}
    for part in (match[1] if match[1] is not None else match[2]).split(";"):
        name, separator, value = part.strip().partition("=")
        if not separator:
            return Announcement(values, f"its part {quote(part)} has no value")
        values[name] = unquote(value)
    if values.get("on") not in ("0", "1"):
        return Announcement(values, "it must have on=0 or on=1")
    if "rate" not in values or not re.fullmatch(r"0|1|0?\.\d+|1\.0+|0\.\d+", values["rate"]):
        return Announcement(values, "it must have a rate from 0 to 1")
    return Announcement(values)


def check_announcement(page: Hop) -> Iterator[Finding]:
    """Yields whether the announcement fits the header, and whether it can hold for each view."""
    announced, has_header = read_announcement(page), bool(page.lines(POLICY))
    if announced is None:
        yield ok("server-timing", "The server announces no share of pages: with the header on every page it need not.")
        return
    if announced.fault:
        yield problem(
            "server-timing",
            f"The announcement by Server-Timing cannot be read: {announced.fault}.",
            line='Server-Timing: ff;desc="rate=0.1;on=1"',
        )
        return
    if announced.is_on and not has_header:
        yield problem(
            "server-timing",
            "The server announces that it sent the header, but it is missing: something on the way removes it.",
            line=HEADER_LINE,
        )
        return
    if has_header and not announced.is_on:
        yield problem(
            "server-timing",
            "The server announces on=0, but the header is there: the snippet records nothing then.",
            line='Server-Timing: ff;desc="rate=0.1;on=1"',
        )
        return
    if announced.rate < 1 and may_be_shared(page):
        yield warning(
            "server-timing",
            "A cache on the way may give one draw to all visitors: the share is not what it says.",
            line="Cache-Control: private, no-cache",
        )
        return
    if urlsplit(page.url).scheme != "https":
        yield warning(
            "server-timing",
            "Browsers hide Server-Timing from pages without https, so the snippet takes the share for 1.",
        )
        return
    yield ok("server-timing", f"The server announces a share of {announced.rate:g}, and it fits the header.")


def may_be_shared(page: Hop) -> bool:
    """Returns whether a shared cache stored this answer, or may."""
    control = page.header("cache-control").lower()
    if "private" in control or "no-store" in control:
        return False
    return "age" in {name.lower() for name, _ in page.headers} or "s-maxage" in control or "public" in control


def check_isolation(page: Hop) -> Finding:
    """Returns whether the page is cross-origin isolated, which decides over the markers of samples."""
    opener = page.header("cross-origin-opener-policy").partition(";")[0].strip().lower()
    embedder = page.header("cross-origin-embedder-policy").partition(";")[0].strip().lower()
    if opener == "same-origin" and embedder in ("require-corp", "credentialless"):
        return ok(
            "isolation",
            "The page is cross-origin isolated: samples have markers, for garbage collection, layout and paint.",
        )
    return ok("isolation", "The page is not cross-origin isolated: everything works, but samples have no markers.")
