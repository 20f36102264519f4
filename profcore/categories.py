"""The category of a func: whose code it is, by rules that are data. `docs/categories.md` shows the same table.

Names and URIs are claims of the page (`//# sourceURL` can say anything): a category is a hint for a person, never a
permission. The public-suffix list is the one inside its package; nothing is fetched.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from ipaddress import ip_address
from typing import Final, Literal
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

from profcore.formats.slice import FUNC_CATEGORIES
from profcore.funcs import PROFILER_NAMES, FuncKey
from profcore.packages import LIBRARY, MAX_MATCHED_CHARS

Owner = Literal["own", "other"]
NO_GROUP: Final = "(none)"


@dataclass(frozen=True, slots=True)
class CategoryRule:
    """What a func must be for a category: every condition that is not None. The first rule that fits decides.

    `uri` is searched in the stored URI and `name` must match the whole name, both as regular expressions. `owner`
    says whether the URI's site is one of the project's; where these are unknown, such a rule fits nothing.
    """

    category: str
    reason: str
    uri: str | None = None
    name: str | None = None
    has_uri: bool | None = None
    has_position: bool | None = None
    owner: Owner | None = None

    def __post_init__(self) -> None:
        """Raises `ValueError` for a category there is none of, or a pattern that is none."""
        if self.category not in FUNC_CATEGORIES:
            raise ValueError(f"category must be one of {', '.join(FUNC_CATEGORIES)}; not {self.category[:80]!r}")
        for pattern in (self.uri, self.name):
            try:
                re.compile(pattern or "")
            except re.error as error:
                raise ValueError(f"a pattern of category {self.category} cannot be read: {error}") from None


RULES: Final = (
    CategoryRule(
        "profiler",
        "our own cost: the built-ins that start and stop the recording",
        name="|".join(sorted(PROFILER_NAMES)),
        has_uri=False,
        has_position=False,
    ),
    CategoryRule(
        "webassembly",
        "the engine's frames between JavaScript and WebAssembly",
        name="(?:js-to-wasm|wasm-to-js).*",
        has_uri=False,
    ),
    CategoryRule("built-in", "no resource and no position", has_uri=False, has_position=False),
    CategoryRule("eval", "a position in a script without a name", has_uri=False),
    CategoryRule(
        "extension", "an extension's scheme; its id is not kept", uri=r"^(?:[a-z0-9.+-]*-extension|webkit-masked-url):"
    ),
    CategoryRule("webassembly", "the engine's own scheme, or the file's ending", uri=r"^wasm:|\.wasm$"),
    CategoryRule("library", "an npm package is visible in the URI", uri=LIBRARY),
    CategoryRule("inline", "code in an attribute or an address", uri=r"^javascript:"),
    CategoryRule("eval", "a script made from text", uri=r"^(?:data|webpack-internal|webpack|evalmachine|debugger):"),
    CategoryRule("eval", "a `sourceURL` that names no place", uri=r"^(?![A-Za-z][A-Za-z0-9+.-]*:)(?!//)"),
    CategoryRule(
        "inline",
        "on the project's own site, a document's address: the script stands in the page",
        uri=r"^https?://[^/]+(?:/[^.]*|/(?:.*/)?[^/.]*|.*\.(?:html?|xhtml|php|aspx?|jsp))$",
        owner="own",
    ),
    CategoryRule("first-party", "a script of the project's own site", owner="own"),
    CategoryRule("third-party", "a script of another site", owner="other"),
)


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=10_000)
def site_of(host: str) -> str:
    """Returns the registrable domain of a host (`shop.example.co.uk` → `example.co.uk`); else the host itself.

    IP addresses, single words (`localhost`) and public suffixes are sites of their own.
    """
    host = host.lower().rstrip(".")
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return _suffixes().privatesuffix(host) or host
    return host


def origin_of(uri: str | None) -> str | None:
    """Returns `scheme://host[:port]` of a URI, also of one within `blob:`; None where it has no host."""
    if uri is None:
        return None
    try:
        parts = urlsplit(uri[5:] if uri.startswith("blob:") else uri)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else None


def host_of(uri: str | None) -> str | None:
    """Returns the host of a URI, without its port; None where it has none."""
    origin = origin_of(uri)
    try:
        return urlsplit(origin).hostname if origin else None
    except ValueError:
        return None


def sites_of(origins: Iterable[str]) -> frozenset[str]:
    """Returns the sites of origins as ingest keys have them; a wildcard host counts as its domain, `*` as none."""
    hosts = (host_of(origin.replace("://*.", "://")) for origin in origins if origin not in ("*", "null"))
    return frozenset(site_of(host) for host in hosts if host)


@lru_cache(maxsize=1_000)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def categorize(key: FuncKey, sites: frozenset[str], rules: Sequence[CategoryRule] = ()) -> str | None:
    """Returns the category of a func, None where nothing is known. A project's `rules` come before our own.

    `sites` are the project's own; without any, its scripts can be told neither first-party nor third-party.
    """
    owner = _owner_of(key.uri, sites)
    for rule in (*rules, *RULES):
        if _fits(rule, key, owner):
            return rule.category
    return None


def _owner_of(uri: str | None, sites: frozenset[str]) -> Owner | None:
    host = host_of(uri)
    if not sites or host is None:
        return None
    return "own" if site_of(host) in sites else "other"


def _fits(rule: CategoryRule, key: FuncKey, owner: Owner | None) -> bool:
    if rule.has_uri is not None and rule.has_uri != (key.uri is not None):
        return False
    if rule.has_position is not None and rule.has_position != (key.line is not None):
        return False
    if rule.owner is not None and rule.owner != owner:
        return False
    if rule.name is not None and not _compiled(rule.name).fullmatch(key.name[:MAX_MATCHED_CHARS]):
        return False
    return rule.uri is None or (
        key.uri is not None and _compiled(rule.uri).search(key.uri[:MAX_MATCHED_CHARS]) is not None
    )


@dataclass(frozen=True, slots=True)
class RulesPreview:
    """What a project's rules would change: funcs by category before and after, and which funcs would move where."""

    before: Counter[str | None]
    after: Counter[str | None]
    moved: Sequence[tuple[FuncKey, str | None, str | None]]


def preview_rules(keys: Sequence[FuncKey], sites: frozenset[str], rules: Sequence[CategoryRule]) -> RulesPreview:
    """Returns what `rules` would change for some funcs, in their order. Nothing is stored."""
    pairs = [(key, categorize(key, sites), categorize(key, sites, rules)) for key in keys]
    return RulesPreview(
        Counter(before for _, before, _ in pairs),
        Counter(after for _, _, after in pairs),
        [pair for pair in pairs if pair[1] != pair[2]],
    )
