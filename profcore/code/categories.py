"""The category of a func: whose code it is, by rules that are data. `docs/categories.md` shows the same table.

Names and URIs are claims of the page (`//# sourceURL` can say anything). A category is a hint for people, never a
permission.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import re2

from profcore.code.packages import LIBRARY, MAX_MATCHED_CHARS
from profcore.code.parties import Owner, PartyRule
from profcore.code.sites import owner_of
from profcore.trace.funcs import PROFILER_NAMES, FuncKey

# The categories of docs/categories.md, with the words shown to people. Order is that of the exports: append only.
FUNC_CATEGORIES: Final = {
    "first-party": "First party",
    "third-party": "Third party",
    "library": "Library",
    "extension": "Extension",
    "built-in": "Built-in",
    "eval": "Eval",
    "webassembly": "WebAssembly",
    "inline": "Inline",
    "profiler": "Profiler",
}


NO_GROUP: Final = "(none)"
# A project's patterns and the names they meet may both be hostile. RE2 takes time in proportion to the size of the
# pattern times the length of the text; `re` may take for ever. A list of thirty folders has a size of 200.
MAX_PATTERN_SIZE: Final = 500
PATTERN_BYTES: Final = 64 * 1024  # of memory for each pattern


class Pattern(Protocol):
    """A compiled regular expression. `search` and `fullmatch` return None if the text does not match."""

    @property
    def pattern(self) -> str: ...
    def search(self, text: str, /) -> object | None: ...
    def fullmatch(self, text: str, /) -> object | None: ...


class ProjectPattern:
    """A project's own regular expression, in RE2's syntax: without lookaround and back references.

    `size` is the number of instructions of its program.
    """

    def __init__(self, pattern: str) -> None:
        """Raises `ValueError`, with a sentence, if the pattern cannot be read or is too large."""
        options = re2.Options()
        options.max_mem = PATTERN_BYTES
        options.log_errors = False
        try:
            self._regex = re2.compile(pattern, options)
        except re2.error as error:
            detail = error.args[0].decode(errors="replace") if error.args else "unknown error"
            raise ValueError(f"the pattern {pattern[:80]!r} cannot be read: {detail}") from None
        self.pattern = pattern
        self.size = int(self._regex.programsize)
        if self.size > MAX_PATTERN_SIZE:
            raise ValueError(f"the pattern {pattern[:80]!r} has too many alternatives and repetitions")

    def search(self, text: str, /) -> object | None:
        """Returns a match anywhere in the text."""
        match: object | None = self._regex.search(text.encode(errors="replace"))
        return match

    def fullmatch(self, text: str, /) -> object | None:
        """Returns a match of the whole text."""
        match: object | None = self._regex.fullmatch(text.encode(errors="replace"))
        return match


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryRule:
    """The conditions for a category: all that are not None must hold. The first rule that matches decides.

    `uri` is searched in the stored URI, `source` in the original source's path, and `name` must match the whole name,
    all as regular expressions. `owner` says whether the URI's site is one of the project's; if these are unknown, such
    a rule matches nothing. `has_source` says whether a source map covers the func.
    """

    category: str
    reason: str
    uri: Pattern | None = None
    name: Pattern | None = None
    has_uri: bool | None = None
    has_position: bool | None = None
    owner: Owner | None = None
    source: Pattern | None = None
    has_source: bool | None = None

    def __post_init__(self) -> None:
        """Raises `ValueError` for an unknown category."""
        if self.category not in FUNC_CATEGORIES:
            raise ValueError(f"category must be one of {', '.join(FUNC_CATEGORIES)}; not {self.category[:80]!r}")


# Their texts are ours, so that Python's engine may read them: these patterns are measured on hostile URIs.
RULES: Final = (
    CategoryRule(
        category="profiler",
        reason="our own cost: the built-ins that start and stop the recording",
        name=re.compile("|".join(sorted(PROFILER_NAMES))),
        has_uri=False,
        has_position=False,
    ),
    CategoryRule(
        category="webassembly",
        reason="the engine's frames between JavaScript and WebAssembly",
        name=re.compile("(?:js-to-wasm|wasm-to-js).*"),
        has_uri=False,
    ),
    CategoryRule(category="built-in", reason="no resource and no position", has_uri=False, has_position=False),
    CategoryRule(category="eval", reason="a position in a script without a name", has_uri=False),
    CategoryRule(
        category="extension",
        reason="an extension's scheme; its id is not kept",
        uri=re.compile(r"^(?:[a-z0-9.+-]*-extension|webkit-masked-url):"),
    ),
    CategoryRule(
        category="webassembly",
        reason="the engine's own scheme, or the file's ending",
        uri=re.compile(r"^wasm:|\.wasm$"),
    ),
    CategoryRule(
        category="library", reason="an npm package is visible in the original source's path", source=re.compile(LIBRARY)
    ),
    CategoryRule(
        category="library",
        reason="an npm package is visible in the URI, and no source map says more",
        uri=re.compile(LIBRARY),
        has_source=False,
    ),
    CategoryRule(
        category="first-party",
        reason="the project's source maps say where it is from, and that is no package",
        has_source=True,
    ),
    CategoryRule(category="inline", reason="code in an attribute or an address", uri=re.compile(r"^javascript:")),
    CategoryRule(
        category="eval",
        reason="a script made from text",
        uri=re.compile(r"^(?:data|webpack-internal|webpack|evalmachine|debugger):"),
    ),
    CategoryRule(
        category="eval",
        reason="a `sourceURL` that names no place",
        uri=re.compile(r"^(?![A-Za-z][A-Za-z0-9+.-]*:)(?!//)"),
    ),
    CategoryRule(
        category="inline",
        reason="on the project's own site, a document's address: the script stands in the page",
        uri=re.compile(r"^https?://[^/]+(?:/[^.]*|/(?:.*/)?[^/.]*|.*\.(?:html?|xhtml|php|aspx?|jsp))$"),
        owner="own",
    ),
    CategoryRule(category="first-party", reason="a script of the project's own site", owner="own"),
    CategoryRule(category="third-party", reason="a script of another site", owner="other"),
)


def categorize(
    key: FuncKey,
    sites: frozenset[str],
    rules: Sequence[CategoryRule] = (),
    *,
    source: str | None = None,
    parties: Sequence[PartyRule] = (),
) -> str | None:
    """Returns the category of a func, or None if nothing is known. A project's `rules` come before the built-in ones.

    `sites` are the project's own; without any, a script is neither first-party nor third-party. `parties` are its rules
    for single domains. `source` is the canonical path of the func's original source, if a source map has one.
    """
    owner = owner_of(key.uri, sites, parties)
    for rule in (*rules, *RULES):
        if _fits(rule, key, owner, source):
            return rule.category
    return None


CategoryKey = tuple[str | None, bool, str | None]


def category_key_of(key: FuncKey, *, by_name: bool) -> CategoryKey:
    """Returns what of a func decides its category: its script, whether it has a position, and its name if that counts.

    Most functions of a script share these facts, so few of a page's hundreds have to be compared with the rules.
    `by_name` says whether a rule of the project looks at names. Built-in rules look at names without a script only.
    """
    return key.uri, key.line is not None, key.name if by_name or key.uri is None else None


def _fits(rule: CategoryRule, key: FuncKey, owner: Owner | None, source: str | None) -> bool:
    if rule.has_uri is not None and rule.has_uri != (key.uri is not None):
        return False
    if rule.has_position is not None and rule.has_position != (key.line is not None):
        return False
    if rule.has_source is not None and rule.has_source != (source is not None):
        return False
    if rule.owner is not None and rule.owner != owner:
        return False
    if rule.name is not None and not rule.name.fullmatch(key.name[:MAX_MATCHED_CHARS]):
        return False
    return _finds(rule.uri, key.uri) and _finds(rule.source, source)


def _finds(pattern: Pattern | None, text: str | None) -> bool:
    if pattern is None:
        return True
    return text is not None and pattern.search(text[:MAX_MATCHED_CHARS]) is not None
