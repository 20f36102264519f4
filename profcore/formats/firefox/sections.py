"""The sections of "Profile Info": the query, its result and counts, and how to read the profile."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from profcore.formats.firefox.shapes import ExtraEntry, ExtraSection
from profcore.formats.firefox.tables import safe_text
from profcore.formats.slice import DifferenceExport, Pruned, SliceExport, SourceTexts, TimelineExport
from profcore.trace.dimensions import EXPORTED_DIMENSIONS
from profcore.trace.weights import TimeParts

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EVERYTHING: Final = "everything"
Caveats = Sequence[tuple[str, str]]
# Caveats that readers misunderstand easily, the most misleading first.
COMMON_CAVEATS: Final = (
    (
        "Other origins",
        "Scripts of other origins loaded without the crossorigin attribute and CORS headers are invisible. Their time "
        "counts for the visible function that called them.",
    ),
    ("Lines", "Lines and columns say where a function is defined, never which line was running."),
)
HIDDEN_CAVEAT: Final = (
    "(hidden)",
    "The main thread was busy and no stack was visible: garbage collection, style, layout, paint, or JavaScript "
    "whose stack the browser dropped. No function's time includes it.",
)
ENGINE_TIME_CAVEAT: Final = (
    "(engine)",
    "The main thread was busy outside the scripts of long animation frames: style, layout, paint, parsing. "
    "Browsers that report no such frames have none; there it is part of (hidden). No function's time includes it.",
)
IDLE_CAVEAT: Final = ("Idle", "No stack and no sign of work. No total includes it.")
AGGREGATE_CAVEATS: Final = (
    (
        "Axis",
        "This is an aggregate: each call path is as wide as its time over all page views, heaviest first. "
        "The axis is not a clock.",
    ),
    HIDDEN_CAVEAT,
    ENGINE_TIME_CAVEAT,
    IDLE_CAVEAT,
    *COMMON_CAVEATS,
)
CATEGORY_CAVEATS: Final = (
    (
        "Segments",
        "A category's track has the time in which a function of that category was on top of the stack, with all that "
        "called it. Hidden, engine and idle time belong to no category.",
    ),
    *AGGREGATE_CAVEATS,
)
DIFFERENCE_CAVEATS: Final = (
    (
        "Weights",
        "Milliseconds per page view, head minus base, by call path: negative if the head takes less. The largest "
        "increase comes first, the largest decrease last. Each is as wide as the size of its change.",
    ),
    (
        "Functions",
        "A function is the same on both sides if its original source and name are equal. Without source maps, its "
        "script (except a hash in the script's name), position and name must be equal. So a function that moved in a "
        "bundle without source maps is shown as one removed and one new function.",
    ),
    (
        "Chance",
        "These are plain means. The comparison page and the API's `compare` tell how sure a change is (intervals, "
        "q-values, the mix of devices).",
    ),
    *AGGREGATE_CAVEATS[1:],
)
TIMELINE_CAVEATS: Final = (
    (
        "Weights",
        "A sample counts the time until the next one, at most ten sampling intervals. Nothing is known about the rest.",
    ),
    (
        "(hidden)",
        "The main thread was busy and no stack was visible. It is shown below the function to which it is "
        "attributed by the stacks before and after within the same long task, else at the root. That function's total "
        "includes it here. Drop the function (hidden) to see only its JavaScript.",
    ),
    ENGINE_TIME_CAVEAT,
    ("Idle", "No stack and no sign of work. Here it has no stack and no CPU use. No total includes it."),
    (
        "(profiler)",
        "The cost of measuring, separate from the functions in which it happened. No function's total includes it.",
    ),
    ("CPU use", "Busy or not, derived from stacks and long tasks. It is not measured by a clock of the thread."),
    *COMMON_CAVEATS,
)
ENGINE_CAVEAT: Final = (
    "Engine",
    "(garbage collection), (style), (layout) and (paint) are leaves for the engine's work below a function, if the "
    "browser reported it. Their time is not in that function's self time.",
)


def text_section(label: str, texts: Iterable[tuple[str, str]]) -> ExtraSection:
    """Returns a section of texts; empty ones are left out."""
    return ExtraSection(label, [ExtraEntry(safe_text(name), "string", safe_text(text)) for name, text in texts if text])


def slice_sections(export: SliceExport, caveats: Caveats) -> list[ExtraSection]:
    """Returns the sections that describe a slice."""
    sections = [
        text_section("Slice", [_length_text(export), *_slice_texts(export), ("Link", export.link or "")]),
        _count_section("Counts", export),
        time_section("Parts of time", export.time),
    ]
    if export.pruned is not None:
        sections.append(_pruned_section("Pruned", export.pruned, export.time))
    return [*sections, text_section("How to read this", caveats)]


def difference_sections(export: DifferenceExport, caveats: Caveats) -> list[ExtraSection]:
    """Returns the sections that describe a difference and both its sides."""
    length = "Recording length", "All changes per page view, up and down. The axis is not a clock."
    request = [("Verdict", export.verdict), length, ("Asked for", export.query), ("Link", export.link or "")]
    sections = [text_section("Difference", request)]
    for word, side in (("Head", export.head), ("Base", export.base)):
        sections += [
            text_section(word, _slice_texts(side)),
            _count_section(f"{word}: counts", side),
            time_section(f"{word}: parts of time", side.time),
        ]
        if side.pruned is not None:
            sections.append(_pruned_section(f"{word}: pruned", side.pruned, side.time))
    if export.head.interval_ms != export.base.interval_ms:
        text = f"The head's is {export.head.interval_ms:g} ms, the base's {export.base.interval_ms:g} ms."
        caveats = [("Intervals differ", text + " Short functions are seen less often with a longer one."), *caveats]
    if not export.head.views or not export.base.views:
        empty = "head" if not export.head.views else "base"
        caveats = [("Empty side", f"The {empty} has no page views: all time of the other side is change."), *caveats]
    return [*sections, text_section("How to read this", caveats)]


def segment_section(by: str, labelled: Sequence[tuple[str, SliceExport]]) -> ExtraSection:
    """Returns a section with each segment's JavaScript time, and its views if it has views of its own."""
    entries = [ExtraEntry(safe_text(name), "duration", part.time.js_us / 1000) for name, part in labelled]
    if by != "category":
        entries += [ExtraEntry(safe_text(f"{name}, page views"), "integer", part.views) for name, part in labelled]
    return ExtraSection("Segments", entries)


def timeline_sections(export: TimelineExport) -> list[ExtraSection]:
    """Returns the sections that describe some views, the traces of each and how they were sampled."""
    request = [("Asked for", export.query or EVERYTHING), ("Link", export.link or "")]
    sections = [text_section("Slice", [*request, _rules_text(export.display_rules), _sources_text(export.contents)])]
    for view in export.views:
        texts = [
            ("Release", view.release),
            ("Page", view.page),
            ("Started", _iso(int(view.started_at_ms), "milliseconds")),
            *((dimension.name.capitalize(), view.dimensions[dimension.name]) for dimension in EXPORTED_DIMENSIONS),
            ("Traces", str(len(view.traces))),
        ]
        if view.overlap_us:
            text = f"{view.overlap_us / 1000:g} ms were recorded more than once; each recording counts."
            texts.append(("Overlap", text))
        sections += [
            text_section(f"View {view.view_id}", texts),
            time_section(f"View {view.view_id}: parts of time", view.time),
        ]
    caveats = [*TIMELINE_CAVEATS, ENGINE_CAVEAT] if export.engine_leaves else TIMELINE_CAVEATS
    return [*sections, text_section("How to read this", caveats)]


def time_section(label: str, time: TimeParts) -> ExtraSection:
    """Returns a section of the parts of time."""
    parts = [
        ("JavaScript", time.js_us),
        ("Hidden", time.hidden_us),
        ("Engine (style, layout, paint, parsing)", time.engine_us),
        ("Idle", time.idle_us),
        ("Unobserved (a suspended tab or a starved sampler)", time.unobserved_us),
        ("Profiler (the cost of measuring)", time.profiler_us),
        ("Span (all of the above)", time.span_us),
    ]
    return ExtraSection(label, [ExtraEntry(name, "duration", us / 1000) for name, us in parts])


def _length_text(export: SliceExport) -> tuple[str, str]:
    """Returns what the viewer's own line "Recording length" means here."""
    views = f"{export.views} page view{'' if export.views == 1 else 's'}"
    return "Recording length", f"The time of {views} together. The axis is not a clock."


def _slice_texts(export: SliceExport) -> list[tuple[str, str]]:
    return [
        ("Asked for", export.query or EVERYTHING),
        ("Releases", ", ".join(export.releases)),
        ("Pages", ", ".join(export.pages)),
        ("From", _iso(export.started_at_ms, "minutes")),
        ("To", _iso(export.ended_at_ms, "minutes")),
        *((name.capitalize(), ", ".join(values)) for name, values in export.dimensions.items()),
        ("Interval", f"{export.interval_ms:g} ms (of most traces)"),
        _rules_text(export.display_rules),
        _sources_text(export.contents),
    ]


def _rules_text(count: int) -> tuple[str, str]:
    text = f"{count} of the project: names, and functions shown as one. display=none turns them off."
    return "Display rules", text if count else ""


def _sources_text(texts: SourceTexts | None) -> tuple[str, str]:
    text = ""
    if texts is not None:
        text = f"Texts of {texts.count} original sources."
        if texts.left_out:
            text += (
                f" {texts.left_out} more are left out: too large, alone or together with those of costlier functions."
            )
    return "Sources", text


def _count_section(label: str, export: SliceExport) -> ExtraSection:
    counts = [
        ("Page views", export.views),
        ("Traces", export.traces),
        ("Samples", export.samples),
        ("Call paths", len(export.tree)),
    ]
    return ExtraSection(label, [ExtraEntry(name, "integer", count) for name, count in counts])


def _pruned_section(label: str, pruned: Pruned, time: TimeParts) -> ExtraSection:
    return ExtraSection(
        label,
        [
            ExtraEntry("Call paths left out", "integer", pruned.call_nodes),
            ExtraEntry("Each has a total below", "duration", pruned.below_us / 1000),
            ExtraEntry("Their self time, shown as (pruned) below their callers", "duration", pruned.self_us / 1000),
            ExtraEntry("Share of JavaScript", "percentage", pruned.self_us / time.js_us if time.js_us else 0.0),
        ],
    )


def _iso(epoch_ms: int, precision: str) -> str:
    return (EPOCH + timedelta(milliseconds=epoch_ms)).isoformat(timespec=precision)
