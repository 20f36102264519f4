"""Page routes: from a URL to the template of its page, so that `/product/81724` and `/product/9` are one page."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import msgspec

from profcore.trace.wire import UNREADABLE

ID: Final = ":id"
MAX_SEGMENTS: Final = 12  # deeper paths are cut: the rest does not make a page of its own
MAX_ROUTE_CHARS: Final = 400  # longer ones are cut too; this is the endpoint's limit for pages

MAX_SEGMENT_CHARS: Final = 128  # a longer segment is some kind of id

DIGITS: Final = re.compile(r"^\d+$")
UUID: Final = re.compile(r"^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$", re.IGNORECASE)
HEX_WITH_DIGIT: Final = re.compile(r"^(?=.*\d)[0-9a-f]{8,}$", re.IGNORECASE)
DATE: Final = re.compile(r"^\d{4}-\d{2}(-\d{2})?$")
# blue-shirt-81724: two linear searches. One pattern for both takes half a minute on a segment of 64 kB.
LETTER: Final = re.compile(r"[A-Za-z]")
NUMBER_AT_END: Final = re.compile(r"[-_.]\d{3,}$")
TOKEN: Final = re.compile(r"^(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_-]{20,}$")  # base64 ids, ULIDs, nano ids
WORD: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{3,}(?![A-Za-z0-9])")  # two of these make a slug, not a token
EMAIL: Final = re.compile(r"^[^@\s]+@[^@\s]+$")
LEADING_SLASHES: Final = re.compile("^//+")
ID_PATTERNS: Final = (DIGITS, UUID, HEX_WITH_DIGIT, DATE, EMAIL)


class RouteRuleError(ValueError):
    """A route rule cannot work as written; the text is a sentence without its subject."""


def check_rule(rule: str) -> None:
    """Raises `RouteRuleError` for a rule that matches no path, or not the paths it seems meant for."""
    if not rule.startswith("/"):
        raise RouteRuleError("it must begin with /: a rule is only the path, without scheme and host")
    if len(rule) > MAX_ROUTE_CHARS:
        raise RouteRuleError(f"it has more than {MAX_ROUTE_CHARS} characters")
    if not rule.isprintable() or " " in rule:
        raise RouteRuleError("it has a space or a control character")
    if not rule.isascii():
        raise RouteRuleError(f"it must be written as addresses are sent: {quote(rule, safe='/:*%')[:80]}")
    if any(char in rule for char in "?#;"):
        raise RouteRuleError("it has a ?, # or ;: a route ends before these")
    for segment in _segments_of(rule):
        if segment == ":":
            raise RouteRuleError("a : needs a name after it, such as :id")
        if "*" in segment and segment != "*":
            raise RouteRuleError(f"in {segment[:80]} the * has no meaning: it must be alone between slashes")
        if ":" in segment[1:] and not segment.startswith(":"):
            raise RouteRuleError(
                f"in {segment[:80]} the : has no meaning: it must be the first character of its segment"
            )


def find_unreached(rules: Sequence[str]) -> dict[int, int]:
    """Returns the rules that are never reached, by position, each with the earlier rule that covers it."""
    covered: dict[int, int] = {}
    for later, rule in enumerate(rules):
        segments = _segments_of(rule)
        is_open = bool(segments) and segments[-1] == "*"
        for earlier, earlier_rule in enumerate(rules[:later]):
            if _covers(_segments_of(earlier_rule), segments, is_open=is_open):
                covered[later] = earlier
                break
    return covered


def _covers(template: Sequence[str], segments: Sequence[str], *, is_open: bool) -> bool:
    if template and template[-1] == "*":
        template = template[:-1]
        segments = segments[: -1 if is_open else None]
        if len(segments) < len(template):
            return False
        segments = segments[: len(template)]
    elif is_open:
        return False  # the later rule matches longer paths too
    return len(segments) == len(template) and all(
        want.startswith(":") or want in ("*", have) for want, have in zip(template, segments, strict=True)
    )


def route_of_url(url: str, rules: Sequence[str] = ()) -> str:
    """Returns the route of a URL: the project's rules first, then digits, ids, hashes, dates and tokens become `:id`.

    A rule is a path template: `:name` stands for one segment, a final `*` for any rest. The first matching rule is the
    route. Query, fragment, host and parameters (`;jsessionid=…`) are dropped. A URL that is not hierarchical, such as
    `data:` or `blob:`, has no path and is dropped completely.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "/"
    if parts.scheme and not parts.netloc and parts.scheme != "file":
        return "/"
    return route_of_path(parts.path, rules)


def route_of_path(path: str, rules: Sequence[str] = ()) -> str:
    """Returns the route of a URL's path. See `route_of_url`."""
    segments = [step for segment in path.split("/") if (step := segment.partition(";")[0])]
    for rule in rules:
        if fits_rule(segments, rule):
            return rule
    route = ""
    for position, segment in enumerate(segments):
        step = "/" + _template_segment(segment)
        if position == MAX_SEGMENTS or len(route) + len(step) > MAX_ROUTE_CHARS - 2:
            return route + "/*"
        route += step
    return route or "/"


def fits_rule(segments: Sequence[str], rule: str) -> bool:
    """Returns whether a path's segments match a project's route rule."""
    template = _segments_of(rule)
    if template and template[-1] == "*":
        template = template[:-1]
        segments = segments[: len(template)] if len(segments) >= len(template) else ()
    return len(segments) == len(template) and all(
        want.startswith(":") or want in ("*", have) for want, have in zip(template, segments, strict=True)
    )


@lru_cache(maxsize=10_000)  # rules of several projects: each path is compared with all rules of its project
def _segments_of(rule: str) -> tuple[str, ...]:
    return tuple(segment for segment in rule.split("/") if segment)


def _find_query(page: str) -> int:
    """Returns where the query of a pattern begins, or its length.

    A ? begins none before a slash (`/:lang?/cart`, `/product/?/reviews`), alone in the last segment (`/product/?`), at
    the end of a parameter (`/users/:id?`), and in a parameter's own pattern (`/:slug((?!admin).*)`).
    """
    start = depth = 0
    is_param = page.startswith(":")
    for at, char in enumerate(page):
        if char == "/":
            start, depth, is_param = at + 1, 0, page.startswith(":", at + 1)
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "?":
            after = page[at + 1 : at + 2]
            is_last = after in ("", "?")  # a query may follow
            is_optional = after == "/" or (is_last and (at == start or is_param))
            if not is_optional and not (is_param and depth > 0):
                return at
    return len(page)


def clean_page(page: str) -> str:
    """Returns a page name from the client without query, fragment and host, which may be private.

    A name may be an address, or a pattern of a router, whose optional segments end with a ? that begins no query.
    """
    page = page.split("#", 1)[0].strip()
    path = page.split("?", 1)[0].rstrip()
    page = path if "://" in path or path.startswith("//") else page[: _find_query(page)].rstrip()
    if "://" in page or page.startswith("//"):
        try:
            parts = urlsplit(page)
        except ValueError:
            return "/"
        # `blob:https://…` has no host, and its path is a whole URL. A path that begins with two slashes would itself be
        # read as an address, and its first part as a host.
        page = LEADING_SLASHES.sub("/", parts.path) if parts.netloc or not parts.scheme else ""
    return page or "/"


def _template_segment(segment: str) -> str:
    text = unquote(segment)
    if len(text) > MAX_SEGMENT_CHARS:
        return ID  # this also keeps the patterns below fast
    is_id = any(pattern.match(text) for pattern in ID_PATTERNS)
    is_token = TOKEN.match(text) and len(WORD.findall(text)) < 2
    is_numbered = NUMBER_AT_END.search(text) and LETTER.search(text)
    return ID if is_id or is_token or is_numbered else segment


class PageAddress(msgspec.Struct, gc=False):
    """The client's name of its page, or its full address. Addresses are private; routes are made from them."""

    page: str | None = None
    url: str | None = None


_page_decoder: Final = msgspec.json.Decoder(PageAddress)


def read_page_address(body: bytes) -> PageAddress | None:
    """Returns the page of an accepted envelope, to try route rules on it; None if it cannot be read."""
    try:
        return _page_decoder.decode(body)
    except UNREADABLE:
        return None
