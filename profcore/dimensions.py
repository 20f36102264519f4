"""The dimensions of a view that are closed sets: device class, browser family, why the trace ended.

A code is an index into its tuple and is stored: append, never reorder.
"""

from typing import Final

DEVICE_CLASSES: Final = ("unknown", "desktop", "desktop-low", "desktop-high", "mobile", "mobile-low", "mobile-high")
BROWSERS: Final = ("unknown", "chrome", "edge", "opera", "samsung", "firefox", "safari", "webview", "electron", "other")
END_REASONS: Final = ("unknown", "stop", "timer", "timeout", "samplebufferfull", "pagehide", "other")
TRUNCATING_REASONS: Final = frozenset({"samplebufferfull", "pagehide"})

# navigator.deviceMemory is rounded and capped by the browser (0.25 … 8 GiB; Chrome 147 added 16 and 32).
LOW_MEMORY_GIB: Final = 4.0
LOW_CORES: Final = 4

# The families ua-parser names, as far as they can speak this API or are met often.
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

    Mobile or desktop says the client, else nothing is known. Within either, a device is *low* when it has at most
    `LOW_CORES` cores or less than `LOW_MEMORY_GIB` GiB, *high* when a fact is known and none is low, and plain when
    nothing is known. `docs/dimensions.md` shows the table.
    """
    if is_mobile is None:
        return DEVICE_CLASSES.index("unknown")
    form = "mobile" if is_mobile else "desktop"
    if memory_gib is None and cores is None:
        return DEVICE_CLASSES.index(form)
    is_low = (cores is not None and cores <= LOW_CORES) or (memory_gib is not None and memory_gib < LOW_MEMORY_GIB)
    return DEVICE_CLASSES.index(f"{form}-low" if is_low else f"{form}-high")


def classify_browser(family: str | None) -> int:
    """Returns the code of a browser family as ua-parser names it; unnamed is unknown, unlisted is other."""
    if not family:
        return BROWSERS.index("unknown")
    return BROWSERS.index(FAMILY_OF_BROWSER.get(family.lower(), "other"))


def classify_end_reason(reason: str | None) -> int:
    """Returns the code of why a trace ended. A free text of the client stays in the raw body only."""
    if not reason:
        return END_REASONS.index("unknown")
    word = REASON_ALIASES.get(reason, reason)
    return END_REASONS.index(word if word in END_REASONS else "other")


def is_truncating(end_reason: int) -> bool:
    """Tells whether the trace ended before its view did what it wanted to record."""
    return END_REASONS[end_reason] in TRUNCATING_REASONS
