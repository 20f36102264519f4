"""The schemas of markers: for each kind its fields, labels and description in the viewer."""

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
    name="Paint",
    display=OVERVIEW,
    fields=[
        MarkerField("element", "Element", "string"),
        MarkerField("url", "URL", "url"),
        MarkerField("size", "Size (px²)", "integer"),
        DETAILS,
    ],
    description="A moment at which the first or the largest part of the page became visible.",
    tooltipLabel="{marker.name} at {marker.start}",
    tableLabel="{marker.data.element}",
)
INTERACTION: Final = MarkerSchema(
    name="Interaction",
    display=OVERVIEW,
    fields=[
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
    description="The time from a person's input to the next paint. INP is the longest of a view, or close to it.",
    tooltipLabel="{marker.data.event}",
    tableLabel="{marker.data.event} {marker.data.target}",
    chartLabel="{marker.data.event}",
)
LONG_TASK: Final = MarkerSchema(
    name="LongTask",
    display=OVERVIEW,
    fields=[
        MarkerField("blocking", "Time over 50 ms", "duration"),
        JS,
        HIDDEN,
        MarkerField("heaviest", "Function with most self time", "string"),
        MarkerField("heaviest_ms", "Its self time", "duration"),
        DETAILS,
    ],
    description="The main thread was busy for more than 50 ms without a pause. Samples in it "
    "without a stack are hidden time, or the engine's.",
    tooltipLabel="Long task, {marker.duration}",
    tableLabel="{marker.data.heaviest}",
    chartLabel="{marker.data.heaviest}",
    graphs=[MarkerGraph("blocking", "bar", "red")],
)
LONG_FRAME: Final = MarkerSchema(
    name="LongAnimationFrame",
    display=OVERVIEW,
    fields=[
        MarkerField("blocking", "Blocking", "duration"),
        MarkerField("until_render", "Until rendering started", "duration"),
        MarkerField("until_layout", "Until style and layout started", "duration"),
        JS,
        HIDDEN,
        MarkerField("heaviest", "Longest script", "string"),
        SCRIPTS,
        DETAILS,
    ],
    description="A frame that took more than 50 ms to reach the screen, and the scripts that ran in it.",
    tooltipLabel="Long animation frame, {marker.duration}",
    tableLabel="{marker.data.heaviest}",
    chartLabel="{marker.duration}",
)
SHIFT: Final = MarkerSchema(
    name="LayoutShift",
    display=OVERVIEW,
    fields=[MarkerField("value", "Score", "decimal"), DETAILS],
    description="Something on the page moved unexpectedly.",
    tableLabel="{marker.data.value}",
)
USER_TIMING: Final = MarkerSchema(
    name="UserTiming",
    display=CHART,
    fields=[MarkerField("name", "Name", "string"), MarkerField("entryType", "Kind", "string"), DETAILS],
    description="A mark or measure that the page set with performance.mark() or performance.measure().",
    tooltipLabel="{marker.data.name}",
    tableLabel="{marker.data.name}",
    chartLabel="{marker.data.name}",
)
OTHER: Final = MarkerSchema(
    name="Mark",
    display=CHART,
    fields=[
        MarkerField("name", "Name", "string"),
        MarkerField("value", "Value", "decimal"),
        JS,
        HIDDEN,
        DETAILS,
    ],
    description="A fact that the page sent with its trace.",
    tableLabel="{marker.data.name}",
    chartLabel="{marker.data.name}",
)
TRACE: Final = MarkerSchema(
    name="Trace",
    display=CHART,
    fields=[
        MarkerField("number", "Number in the view", "integer"),
        MarkerField("trace", "Trace", "string"),
        MarkerField("ended", "Ended by", "string"),
        MarkerField("samples", "Samples", "integer"),
        MarkerField("requested", "Requested interval", "duration"),
        MarkerField("interval", "Effective interval", "duration"),
        MarkerField("measured", "Measured interval (median)", "duration"),
    ],
    description="The recording of one profiler, from its first sample to its last.",
    tooltipLabel="Trace {marker.data.number}",
    tableLabel="Trace {marker.data.number}, ended by {marker.data.ended}",
    chartLabel="Trace {marker.data.number}",
)
TRACE_END: Final = MarkerSchema(
    name="TraceEnd",
    display=OVERVIEW,
    fields=[MarkerField("ended", "Ended by", "string"), MarkerField("meaning", "Meaning", "string")],
    description="Why a recording ended.",
    tooltipLabel="Recording ended: {marker.data.ended}",
    tableLabel="{marker.data.ended}",
)
UNOBSERVED: Final = MarkerSchema(
    name="Unobserved",
    display=OVERVIEW,
    fields=[MarkerField("number", "Trace", "integer")],
    description="There was no sample for more than ten intervals: the tab was suspended, or the "
    "sampler starved. Nothing is known about this time.",
    tooltipLabel="Unobserved for {marker.duration}",
    tableLabel="in trace {marker.data.number}",
    chartLabel="unobserved",
)
ENGINE: Final = MarkerSchema(
    name="Engine",
    display=CHART,
    fields=[MarkerField("samples", "Samples", "integer"), MarkerField("weight", "Their time", "duration")],
    description="Consecutive samples for which the browser told what its engine was doing.",
    tooltipLabel="{marker.name}, {marker.duration}",
    tableLabel="{marker.data.samples} samples",
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
