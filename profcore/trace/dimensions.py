"""The dimensions of page views, which are closed sets, why a trace ended, and the traits of a view.

A code is an index into its tuple and is stored: append, never reorder.

Traits are what makes the same code faster or slower and is no dimension. Sums are not by them, so cells do not
multiply. Comparisons divide views by them (`profcore.stats.finer_strata`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import Final

DEVICE_CLASSES: Final = ("unknown", "desktop", "desktop-low", "desktop-high", "mobile", "mobile-low", "mobile-high")
BROWSERS: Final = (
    *("unknown", "chrome", "edge", "opera", "samsung", "firefox", "safari", "webview", "electron", "other"),
    "bot",
)
BOT: Final = BROWSERS.index("bot")
# How the view began. Senders name each of them except the first, which is no word of the wire.
NAVIGATIONS: Final = ("unknown", "load", "reload", "back_forward", "route", "bfcache", "prerender")
# Whether the browser's cache had what a document load needs. Senders name it; other views load nothing.
CACHES: Final = ("unknown", "cold", "warm")
# Where the code runs. What names none is production, as was all before environments were known.
ENVIRONMENTS: Final = ("production", "staging", "development", "test", "preview", "other")
# The words by which senders name them, in the order in which they decide: a `pre-prod` and a `non-production` are no
# production, a `vercel-production` is.
ENVIRONMENT_WORDS: Final = (
    ("preview", frozenset({"preview", "previews", "review"})),
    ("staging", frozenset({"staging", "stage", "stg", "pre", "preprod", "preproduction", "uat", "non", "nonprod"})),
    ("test", frozenset({"test", "tests", "testing", "qa", "ci", "e2e"})),
    ("development", frozenset({"development", "dev", "develop", "local", "localhost"})),
    ("production", frozenset({"production", "prod", "prd", "live"})),
)
# What recorded the view. Old views, and those whose sender names no SDK, are our snippet's.
SDKS: Final = ("fieldflame", "sentry", "datadog", "other")
# What was kept of the view: all that was recorded, or only what ran around its slow moments.
CAPTURES: Final = ("whole", "slow")
END_REASONS: Final = (
    "unknown",
    "stop",
    "timer",
    "timeout",
    "samplebufferfull",
    "pagehide",
    "other",
    "hidden",
    "freeze",
    "beforeunload",
    "route",
    "prerender",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dimension:
    """One dimension of page views.

    `name` is its parameter and its field in answers, `plural` its field in exports. `column` is that of its code in
    receipts, cells and history; `values` are what the codes stand for. `title` and `titles` head what pages show by it,
    and `hint` explains a title; `all_word` is the choice of no value. The change between two releases is also shown by
    it, except without `splits_change`. `history_schema` is the version of the history's files since which they have it.
    Sums leave out the codes of `left_out` unless a slice names values of the dimension; the roll-ups, which know no
    dimension, have none of them. Without `in_bar` the slice bar has no field of it, only what is chosen.
    """

    name: str
    plural: str
    column: str
    title: str
    titles: str
    description: str
    values: tuple[str, ...]
    hint: str = ""
    all_word: str = "Any"
    splits_change: bool = True
    history_schema: int = 1
    left_out: tuple[int, ...] = ()
    in_bar: bool = True


DEVICE: Final = Dimension(
    name="device",
    plural="devices",
    column="device_class",
    title="Device class",
    titles="Device classes",
    description="a device class",
    values=DEVICE_CLASSES,
)
BROWSER: Final = Dimension(
    name="browser",
    plural="browsers",
    column="browser",
    title="Browser",
    titles="Browsers",
    description="a browser family; without one, all except bot",
    values=BROWSERS,
    hint="Bots are left out unless they are chosen",
    all_word="Any except bots",
    left_out=(BOT,),
)
NAVIGATION: Final = Dimension(
    name="navigation",
    plural="navigations",
    column="navigation",
    title="Navigation",
    titles="Navigations",
    description="how the view began",
    values=NAVIGATIONS,
    hint="How the view began",
    splits_change=False,
)
CACHE: Final = Dimension(
    name="cache",
    plural="caches",
    column="cache",
    title="Cache",
    titles="Caches",
    description="whether the browser had the page in its cache",
    values=CACHES,
    hint="Whether the browser had the page in its cache",
    splits_change=False,
)
ENVIRONMENT: Final = Dimension(
    name="environment",
    plural="environments",
    column="environment",
    title="Environment",
    titles="Environments",
    description="where the code runs; without one, production",
    values=ENVIRONMENTS,
    hint="Only production counts unless another is chosen",
    all_word="Production",
    splits_change=False,
    left_out=tuple(range(1, len(ENVIRONMENTS))),
)
SDK: Final = Dimension(
    name="sdk",
    plural="sdks",
    column="sdk",
    title="SDK",
    titles="SDKs",
    description="what recorded the view",
    values=SDKS,
    hint="What recorded the view",
    splits_change=False,
    in_bar=False,  # most projects have one; data quality leads to each of several
)
CAPTURE: Final = Dimension(
    name="capture",
    plural="captures",
    column="capture",
    title="Capture",
    titles="Captures",
    description="what was kept of the view; without one, whole",
    values=CAPTURES,
    hint="What was kept of the view",
    all_word="Whole views",
    splits_change=False,
    left_out=(CAPTURES.index("slow"),),  # a mean over slow moments is no mean over views
    in_bar=False,  # few projects have it; their vitals lead to it
)
# Everything that knows the dimensions of a view derives from this. A row's codes are in this order.
DIMENSIONS: Final = (DEVICE, BROWSER, NAVIGATION, CACHE, ENVIRONMENT, SDK, CAPTURE)
EXPORTED_DIMENSIONS: Final = tuple(sorted(DIMENSIONS, key=lambda dimension: dimension.plural))  # as files list them
DIMENSION_COLUMNS: Final = tuple(dimension.column for dimension in DIMENSIONS)

TRUNCATING_REASONS: Final = frozenset({"samplebufferfull", "pagehide"})

# navigator.deviceMemory is rounded and capped by the browser (0.25 … 8 GiB; Chrome 147 added 16 and 32).
LOW_MEMORY_GIB: Final = 4.0
LOW_CORES: Final = 4

# ua-parser's families that have this API or are common.
FAMILY_OF_BROWSER: Final = {
    "chrome": "chrome",
    "chrome mobile": "chrome",
    "chrome mobile ios": "safari",
    "headlesschrome": "chrome",
    "chromium": "chrome",
    "edge": "edge",
    "edge mobile": "edge",
    "opera": "opera",
    "opera mobile": "opera",
    "samsung internet": "samsung",
    "firefox": "firefox",
    "firefox mobile": "firefox",
    "safari": "safari",
    "mobile safari": "safari",
    "chrome mobile webview": "webview",
    "electron": "electron",
}
REASON_ALIASES: Final = {"buffer-full": "samplebufferfull", "bufferfull": "samplebufferfull"}
WORD: Final = re.compile(r"[a-z0-9]+")
# Every browser that has this API names the version of its engine so: Chrome, Edge, Opera, WebView.
ENGINE: Final = re.compile(r"Chrom(?:e|ium)/(\d{1,4})\b")
VERSIONS: Final = 1 << 10  # versions below this are known, others are 0: unknown
# W3C's Trace Context: version, trace, parent, flags; later versions may add fields.
TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?", re.IGNORECASE)
TRACE_ID: Final = re.compile("[A-Za-z0-9_-]{1,64}")  # tracing systems have 16 or 32 digits, or a UUID
HEXADECIMAL: Final = re.compile("[0-9A-Fa-f]+")
# Chrome ticks every 10 ms, on Windows every 16 ms. A short function is then seen in fewer views, for longer.
LONG_TICK_MS: Final = 13.0


def name_codes(codes: Sequence[int]) -> dict[str, str]:
    """Returns the value of each dimension by its name, given a row's codes in the order of `DIMENSIONS`."""
    return {dimension.name: dimension.values[code] for dimension, code in zip(DIMENSIONS, codes, strict=True)}


def classify_device(memory_gib: float | None, cores: int | None, is_mobile: bool | None) -> int:
    """Returns the device class's code.

    The client says whether it is mobile or desktop; otherwise the class is unknown. A device is *low* if it has at most
    `LOW_CORES` cores or less than `LOW_MEMORY_GIB` GiB, *high* if a fact is known and none is low, and plain if no
    fact is known. `docs/dimensions.md` shows the table.
    """
    if is_mobile is None:
        return DEVICE_CLASSES.index("unknown")
    form = "mobile" if is_mobile else "desktop"
    if memory_gib is None and cores is None:
        return DEVICE_CLASSES.index(form)
    is_low = (cores is not None and cores <= LOW_CORES) or (memory_gib is not None and memory_gib < LOW_MEMORY_GIB)
    return DEVICE_CLASSES.index(f"{form}-low" if is_low else f"{form}-high")


def classify_browser(family: str | None) -> int:
    """Returns the code of a browser family as ua-parser names it: no name is unknown, an unlisted name is other."""
    if not family:
        return BROWSERS.index("unknown")
    return BROWSERS.index(FAMILY_OF_BROWSER.get(family.lower(), "other"))


def classify_navigation(navigation: str | None) -> int:
    """Returns the code of a navigation that `check_envelope` has accepted."""
    return NAVIGATIONS.index(navigation or "unknown")


def classify_cache(cache: str | None) -> int:
    """Returns the code of a cache state that `check_envelope` has accepted."""
    return CACHES.index(cache or "unknown")


def classify_environment(environment: str | None) -> int:
    """Returns the code of an environment by the words in its name; none is production, and an unknown one is other."""
    if not environment or not environment.strip():
        return ENVIRONMENTS.index("production")
    words = set(WORD.findall(environment.lower()))
    return ENVIRONMENTS.index(next((name for name, known in ENVIRONMENT_WORDS if known & words), "other"))


def classify_sdk(tags: Mapping[str, str] | Sequence[str] | None) -> int:
    """Returns the code of the SDK that a trace's tags name, as those of other SDKs and of imported files do."""
    named = tags if isinstance(tags, Mapping) else {}
    name = named.get("sdk") or named.get("imported") or "fieldflame"
    return SDKS.index(name if name in SDKS else "other")


def classify_end_reason(reason: str | None) -> int:
    """Returns the code of the reason why a trace ended. Other texts of the client stay only in the raw body."""
    if not reason:
        return END_REASONS.index("unknown")
    word = REASON_ALIASES.get(reason, reason)
    return END_REASONS.index(word if word in END_REASONS else "other")


def is_truncating(end_reason: int) -> bool:
    """Returns whether the recording ended early, so that the sums of its view are too low."""
    return END_REASONS[end_reason] in TRUNCATING_REASONS


def code_traits(user_agent: str, interval_ms: float) -> int:
    """Returns the traits of a view: the major version of its browser's engine, behind whether its ticks are long."""
    found = ENGINE.search(user_agent)
    version = int(found[1]) if found else 0
    return (version if version < VERSIONS else 0) + VERSIONS * (interval_ms >= LONG_TICK_MS)


def read_request_trace(text: str | None) -> str | None:
    """Returns the id of a trace in a tracing system: that of a W3C `traceparent`, or the text itself.

    Hexadecimal ids are in lower case. None for what is no such id, has only zeros, as an unset one has, or is a
    script's word for nothing.
    """
    found = TRACEPARENT.fullmatch(text or "")
    trace = found[1] if found else text or ""
    if not TRACE_ID.fullmatch(trace) or not trace.strip("0-") or trace.lower() in ("undefined", "null"):
        return None
    return trace.lower() if HEXADECIMAL.fullmatch(trace) else trace


def hash_session(session: str, project_id: int, day_on: date) -> int:
    """Returns 64 bits that are the same for all views of a session in one project and day, and tell nothing else."""
    digest = sha256(f"{project_id} {day_on} {session}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
