"""How markers look: a schema for each kind, with the tooltip's lines and what they mean."""

from typing import Final

from profcore.formats.firefox.shapes import MarkerField, MarkerGraph, MarkerSchema

CHART: Final = ["marker-chart", "marker-table"]
OVERVIEW: Final = [*CHART, "timeline-overview"]
DETAILS: Final = MarkerField("details", "More", {"type": "table", "columns": [{"label": "Fact"}, {"label": "Value"}]})
JS: Final = MarkerField("js", "JavaScript in it", "duration")
HIDDEN: Final = MarkerField("hidden", "Hidden in it", "duration")
SCRIPTS: Final = MarkerField(
    "scripts",
    "Scripts",
    {
        "type": "table",
        "columns": [
            {"label": "Invoker"},
            {"label": "Function"},
            {"label": "Script"},
            {"label": "Duration", "type": "duration"},
            {"label": "Forced layout", "type": "duration"},
        ],
    },
)

PAINT: Final = MarkerSchema(
    "Paint",
    OVERVIEW,
    [
        MarkerField("element", "Element", "string"),
        MarkerField("url", "URL", "url"),
        MarkerField("size", "Size (px²)", "integer"),
        DETAILS,
    ],
    "A moment at which the page first, or mostly, came into view.",
    tooltipLabel="{marker.name} at {marker.start}",
    tableLabel="{marker.data.element}",
)
INTERACTION: Final = MarkerSchema(
    "Interaction",
    OVERVIEW,
    [
        MarkerField("event", "Event", "string"),
        MarkerField("target", "Target", "string"),
        MarkerField("input_delay", "Input delay", "duration"),
        MarkerField("processing", "Processing", "duration"),
        MarkerField("presentation", "Presentation delay", "duration"),
        MarkerField("interaction", "Interaction", "integer"),
        JS,
        HIDDEN,
        DETAILS,
    ],
    "From a person's input to the next paint. INP is the longest of a view, or nearly.",
    tooltipLabel="{marker.data.event}",
    tableLabel="{marker.data.event} {marker.data.target}",
    chartLabel="{marker.data.event}",
)
LONG_TASK: Final = MarkerSchema(
    "LongTask",
    OVERVIEW,
    [
        MarkerField("blocking", "Beyond 50 ms", "duration"),
        JS,
        HIDDEN,
        MarkerField("heaviest", "Most JavaScript in", "string"),
        MarkerField("heaviest_ms", "Of that function itself", "duration"),
        DETAILS,
    ],
    "The main thread was busy for more than 50 ms at a stretch. Samples in it that have no stack are hidden time.",
    tooltipLabel="Long task, {marker.duration}",
    tableLabel="{marker.data.heaviest}",
    chartLabel="{marker.data.heaviest}",
    graphs=[MarkerGraph("blocking", "bar", "red")],
)
LONG_FRAME: Final = MarkerSchema(
    "LongAnimationFrame",
    OVERVIEW,
    [
        MarkerField("blocking", "Blocking", "duration"),
        MarkerField("until_render", "Until rendering began", "duration"),
        MarkerField("until_layout", "Until style and layout began", "duration"),
        JS,
        HIDDEN,
        SCRIPTS,
        DETAILS,
    ],
    "A frame that took more than 50 ms to come to the screen, and the scripts that ran in it.",
    tooltipLabel="Long animation frame, {marker.duration}",
    chartLabel="{marker.duration}",
)
SHIFT: Final = MarkerSchema(
    "LayoutShift",
    OVERVIEW,
    [MarkerField("value", "Score", "decimal"), DETAILS],
    "Something on the page moved by itself.",
    tableLabel="{marker.data.value}",
)
USER_TIMING: Final = MarkerSchema(
    "UserTiming",
    CHART,
    [MarkerField("name", "Name", "string"), MarkerField("entryType", "Kind", "string"), DETAILS],
    "A mark or measure that the page set by performance.mark() or performance.measure().",
    tooltipLabel="{marker.data.name}",
    tableLabel="{marker.data.name}",
    chartLabel="{marker.data.name}",
)
OTHER: Final = MarkerSchema(
    "Mark",
    CHART,
    [
        MarkerField("name", "Name", "string"),
        MarkerField("value", "Value", "decimal"),
        JS,
        HIDDEN,
        DETAILS,
    ],
    "A fact that the page sent with its trace.",
    tableLabel="{marker.data.name}",
    chartLabel="{marker.data.name}",
)
TRACE: Final = MarkerSchema(
    "Trace",
    CHART,
    [
        MarkerField("number", "Number in the view", "integer"),
        MarkerField("trace", "Trace", "string"),
        MarkerField("ended", "Ended by", "string"),
        MarkerField("samples", "Samples", "integer"),
        MarkerField("requested", "Interval asked for", "duration"),
        MarkerField("interval", "Interval given", "duration"),
        MarkerField("measured", "Interval measured (median)", "duration"),
    ],
    "What one profiler recorded, from its first sample to its last.",
    tooltipLabel="Trace {marker.data.number}",
    tableLabel="Trace {marker.data.number}, ended by {marker.data.ended}",
    chartLabel="Trace {marker.data.number}",
)
TRACE_END: Final = MarkerSchema(
    "TraceEnd",
    OVERVIEW,
    [MarkerField("ended", "Ended by", "string"), MarkerField("meaning", "Meaning", "string")],
    "Why a recording ended.",
    tooltipLabel="Recording ended: {marker.data.ended}",
    tableLabel="{marker.data.ended}",
)
UNOBSERVED: Final = MarkerSchema(
    "Unobserved",
    OVERVIEW,
    [MarkerField("number", "Trace", "integer")],
    "No sample came for more than ten intervals: the tab was suspended, or the sampler starved. Nothing is known.",
    tooltipLabel="Unobserved for {marker.duration}",
    chartLabel="unobserved",
)
ENGINE: Final = MarkerSchema(
    "Engine",
    CHART,
    [MarkerField("samples", "Samples", "integer"), MarkerField("weight", "Their time", "duration")],
    "Consecutive samples of which the browser said what its engine was doing.",
    tooltipLabel="{marker.name}, {marker.duration}",
)

SCHEMAS: Final = (
    PAINT,
    INTERACTION,
    LONG_TASK,
    LONG_FRAME,
    SHIFT,
    USER_TIMING,
    OTHER,
    TRACE,
    TRACE_END,
    UNOBSERVED,
    ENGINE,
)
