r"""Label selectors in Prometheus' syntax: `{service_name="shop", page="/cart", release=~"1\\..*"}`.

They come from the holder of a token, so their length and their number are bounded, and patterns are RE2's.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from profcore.code.categories import Pattern, ProjectPattern

MAX_SELECTOR_CHARS: Final = 16_384  # a hundred pages of 160 characters
MAX_MATCHERS: Final = 50  # Grafana adds one for each click on a label

NAME: Final = re.compile(r'\s*(?:"([A-Za-z_][\w.]*)"|([A-Za-z_][\w.]*))\s*', re.ASCII)
OPERATOR: Final = re.compile(r"(=~|!~|!=|=)\s*")
TEXT: Final = re.compile(r"""(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`([^`]*)`)\s*""")
ESCAPE: Final = re.compile(r"\\(?:([abfnrtv\\\"'])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))")
ESCAPED: Final = dict(zip("abfnrtv\\\"'", "\a\b\f\n\r\t\v\\\"'", strict=True))
MAX_CODE_POINT: Final = 0x10FFFF
SURROGATES: Final = range(0xD800, 0xE000)

# What Grafana makes of a variable with several values: texts with their punctuation escaped, between bars.
LITERAL: Final = r"(?:[^\\.+*?()|\[\]{}^$]|\\[^\w\s])*"
LITERALS: Final = rf"{LITERAL}(?:\|{LITERAL})*"
ALTERNATIVES: Final = re.compile(rf"\(({LITERALS})\)|({LITERALS})")
ALTERNATIVE: Final = re.compile(rf"(?:^|\|)({LITERAL})(?=\||$)")


class SelectorError(ValueError):
    """The selector cannot be read; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class LabelMatcher:
    """One condition on a label. `texts` are those that it names, None for a pattern that names none.

    `is_positive` is false for `!=` and `!~`, which accept all that the condition does not match.
    """

    label: str
    is_positive: bool
    texts: frozenset[str] | None
    pattern: Pattern | None = None

    def accepts(self, text: str) -> bool:
        """Returns whether a value fulfils the condition: as a whole, as in Prometheus."""
        if self.texts is not None:
            return (text in self.texts) == self.is_positive
        assert self.pattern is not None
        return (self.pattern.fullmatch(text) is not None) == self.is_positive


def parse_selector(selector: str) -> Sequence[LabelMatcher]:
    """Returns the conditions of a selector, all of which must hold. An empty one has none. Raises `SelectorError`."""
    if len(selector) > MAX_SELECTOR_CHARS:
        raise SelectorError(f"The label selector has more than {MAX_SELECTOR_CHARS} characters.")
    inner = selector.strip()
    if not inner:
        return ()
    if not (inner.startswith("{") and inner.endswith("}")) or len(inner) == 1:
        raise SelectorError('A label selector is written {label="value"}.')
    matchers: list[LabelMatcher] = []
    at, end = 1, len(inner) - 1
    while inner[at:end].strip():
        if len(matchers) == MAX_MATCHERS:
            raise SelectorError(f"The label selector has more than {MAX_MATCHERS} conditions.")
        at = _read_matcher(inner, at, end, matchers)
    return matchers


def _read_matcher(selector: str, at: int, end: int, matchers: list[LabelMatcher]) -> int:
    """Adds the condition at a place, and returns the place behind it and its comma."""
    name = NAME.match(selector, at, end)
    operator = OPERATOR.match(selector, name.end(), end) if name else None
    text = TEXT.match(selector, operator.end(), end) if operator else None
    if name is None or operator is None or text is None:
        raise SelectorError(f"The label selector cannot be read from {selector[at : at + 40]!r}.")
    quoted, single, raw = text.groups()
    value = raw if raw is not None else unescape(quoted if quoted is not None else single)
    matchers.append(make_matcher(name[1] or name[2], operator[1], value))
    behind = text.end()
    if behind < end:
        if selector[behind] != ",":
            raise SelectorError(f"The label selector needs a comma before {selector[behind : behind + 40]!r}.")
        behind += 1
    return behind


def make_matcher(label: str, operator: str, value: str) -> LabelMatcher:
    """Returns a condition. A pattern of plain alternatives names its texts. Raises `SelectorError`."""
    is_positive = operator.startswith("=")
    if operator in ("=", "!="):
        return LabelMatcher(label, is_positive, frozenset({value}))
    named = ALTERNATIVES.fullmatch(value)
    if named is not None:
        texts = ALTERNATIVE.findall(value if named[1] is None else named[1])
        return LabelMatcher(label, is_positive, frozenset(re.sub(r"\\(.)", r"\1", text) for text in texts))
    try:
        return LabelMatcher(label, is_positive, None, ProjectPattern(value))
    except ValueError as error:
        raise SelectorError(f"Of {label}, {error}.") from None


def unescape(text: str) -> str:
    """Returns a quoted text as Go reads it. Raises `SelectorError` for an escape that means nothing."""

    def read(match: re.Match[str]) -> str:
        simple, *codes, _ = match.groups()
        if simple:
            return ESCAPED[simple]
        code = next((int(digits, 16) for digits in codes if digits), None)
        if code is None or code > MAX_CODE_POINT or code in SURROGATES:
            raise SelectorError(f"The label selector has an unknown escape: {match[0]!r}.")
        return chr(code)

    return ESCAPE.sub(read, text)
