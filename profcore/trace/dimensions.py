"""The dimensions of a view that are closed sets: device class, browser family, navigation, why the trace ended.

A code is an index into its tuple and is stored: append, never reorder.
"""

from typing import Final

DEVICE_CLASSES: Final = ("unknown", "desktop", "desktop-low", "desktop-high", "mobile", "mobile-low", "mobile-high")
BROWSERS: Final = ("unknown", "chrome", "edge", "opera", "samsung", "firefox", "safari", "webview", "electron", "other")
# How the view began. Senders name each of them except the first, which is no word of the wire.
NAVIGATIONS: Final = ("unknown", "load", "reload", "back_forward", "route", "bfcache", "prerender")
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


def classify_end_reason(reason: str | None) -> int:
    """Returns the code of the reason why a trace ended. Other texts of the client stay only in the raw body."""
    if not reason:
        return END_REASONS.index("unknown")
    word = REASON_ALIASES.get(reason, reason)
    return END_REASONS.index(word if word in END_REASONS else "other")


def is_truncating(end_reason: int) -> bool:
    """Tells whether the recording ended early, so that the sums of its view are too low."""
    return END_REASONS[end_reason] in TRUNCATING_REASONS
