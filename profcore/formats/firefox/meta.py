"""`meta` of an exported slice: what the viewer shows as the title and under "Profile Info"."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from profcore.formats.firefox.categories import CATEGORIES
from profcore.formats.firefox.shapes import (
    GECKO_PROFILE_VERSION,
    PROCESSED_PROFILE_VERSION,
    ExtraEntry,
    ExtraSection,
    Meta,
)
from profcore.formats.firefox.tables import safe_text
from profcore.formats.slice import SliceExport

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EVERYTHING: Final = "everything"
# What a reader would take for something else, in the order in which it misleads.
CAVEATS: Final = (
    (
        "Axis",
        "An aggregate: one sample for each call path, as wide as its time over all page views, heaviest first. "
        "Left to right is not a clock.",
    ),
    (
        "(hidden)",
        "The main thread was busy and no stack was visible: garbage collection, style, layout, paint, or JavaScript "
        "whose stack the browser dropped. It is part of no function's time.",
    ),
    ("Idle", "No stack and no sign of work. It is in no total."),
    (
        "Other origins",
        "Scripts of other origins loaded without the crossorigin attribute and CORS headers are invisible; their time "
        "counts for the visible function that called them.",
    ),
    ("Lines", "Lines and columns say where a function is defined, never which line was running."),
)


def build_meta(export: SliceExport, *, busy_ms: float, call_nodes: int) -> Meta:
    """Builds `meta`. `busy_ms` is the length of the time axis: all time with a stack, hidden time included."""
    one_release = safe_text(export.releases[0]) if len(export.releases) == 1 else None
    is_web_link = export.link is not None and export.link.startswith(("https://", "http://"))
    return Meta(
        version=GECKO_PROFILE_VERSION,
        preprocessedProfileVersion=PROCESSED_PROFILE_VERSION,
        interval=export.interval_ms,
        startTime=export.started_at_ms,
        profilingStartTime=0.0,
        # The closing sample lies at the end of the axis and must be inside; an end of 0 would count as none.
        profilingEndTime=busy_ms + export.interval_ms,
        processType=0,
        stackwalk=0,
        product=safe_text(export.project),
        symbolicated=True,
        symbolicationNotSupported=True,
        usesOnlyOneStackType=True,
        sourceCodeIsNotOnSearchfox=True,
        keepProfileThreadOrder=True,
        importedFrom="JS Self-Profiling API, by Fieldflame",
        categories=list(CATEGORIES),
        markerSchema=[],
        initialVisibleThreads=[0],
        initialSelectedThreads=[0],
        extra=_sections(export, call_nodes),
        # The title shows the digits and dots at the end of `misc` as the version: of one release, or of none.
        misc=None if one_release is None else "rv:" + one_release,
        oscpu=_listed(export.browsers) + (f" ({_listed(export.devices)})" if export.devices else "") or None,
        appBuildID=one_release,
        sourceURL=safe_text(export.link) if export.link is not None and is_web_link else None,
        arguments=safe_text(export.query) or EVERYTHING,
    )


def name_thread(export: SliceExport) -> str:
    """Returns the label of the track: the page if it is one, how many they are, or the project where none is named."""
    if len(export.pages) > 1:
        return f"{len(export.pages)} pages"
    return safe_text(export.pages[0] if export.pages else export.project)


def _sections(export: SliceExport, call_nodes: int) -> list[ExtraSection]:
    texts = [
        ("Asked for", export.query or EVERYTHING),
        ("Releases", ", ".join(export.releases)),
        ("Pages", ", ".join(export.pages)),
        ("From", _iso(export.started_at_ms)),
        ("To", _iso(export.ended_at_ms)),
        ("Browsers", ", ".join(export.browsers)),
        ("Devices", ", ".join(export.devices)),
        ("Link", export.link or ""),
    ]
    time = export.time
    parts = [
        ("JavaScript", time.js_us),
        ("Hidden", time.hidden_us),
        ("Idle", time.idle_us),
        ("Unobserved (a suspended tab or a starved sampler)", time.unobserved_us),
        ("Profiler (the cost of measuring)", time.profiler_us),
        ("Span (all of the above)", time.span_us),
    ]
    counts = [
        ("Page views", export.views),
        ("Traces", export.traces),
        ("Samples", export.samples),
        ("Call paths", call_nodes),
    ]
    return [
        ExtraSection("Slice", [ExtraEntry(label, "string", safe_text(text)) for label, text in texts if text]),
        ExtraSection("Counts", [ExtraEntry(label, "integer", count) for label, count in counts]),
        ExtraSection("Parts of time", [ExtraEntry(label, "duration", us / 1000) for label, us in parts]),
        ExtraSection("How to read this", [ExtraEntry(label, "string", text) for label, text in CAVEATS]),
    ]


def _listed(words: Sequence[str]) -> str:
    return ", ".join(safe_text(word) for word in words)


def _iso(epoch_ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=epoch_ms)).isoformat(timespec="minutes")
