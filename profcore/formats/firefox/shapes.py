"""The processed profile format, version 66, with the viewer's own names.

Source: the Firefox Profiler's `src/types/profile.ts`. Every table is a column store: `length`, and columns of exactly
that length. Readers check nothing, and upgraders read columns that the viewer itself never reads. So every column is
written, even if all its values are null. Indexes are 0-based, lines and columns are 1-based, times are in ms.
"""

from typing import Final

import msgspec

from profcore.formats.streaming import TextColumn

# The pinned version; docs/adr/0021-exported-files.md gives the reasons.
PROCESSED_PROFILE_VERSION: Final = 66
# Readers of processed profiles ignore it, but expect a number.
GECKO_PROFILE_VERSION: Final = 36

# `resourceTable.type`. "Web host" is left out on purpose: the viewer would request a favicon from that host.
RESOURCE_UNKNOWN: Final = 0
RESOURCE_URL: Final = 5


class Category(msgspec.Struct):
    """A category; its subcategory 0 is always "Other". The first grey one is the viewer's default category."""

    name: str
    color: str
    subcategories: list[str]


class ExtraEntry(msgspec.Struct):
    """A line of a section of "Profile Info": `format` is a marker field format such as `string` or `duration` (ms)."""

    label: str
    format: str
    value: str | int | float


class ExtraSection(msgspec.Struct):
    """A section of "Profile Info"."""

    label: str
    entries: list[ExtraEntry]


class MarkerField(msgspec.Struct, omit_defaults=True):
    """A line of a marker's tooltip. `format` is a word such as `duration` (ms), or a table's columns."""

    key: str
    label: str
    format: str | dict[str, object]


class MarkerGraph(msgspec.Struct):
    """A separate track, as high as the value of a field."""

    key: str
    type: str
    color: str


class MarkerSchema(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The display of markers with `data.type` = `name`. Labels are templates: `{marker.name}`, `{marker.data.key}`."""

    name: str
    display: list[str]
    fields: list[MarkerField]
    description: str
    tooltipLabel: str | None = None
    tableLabel: str | None = None
    chartLabel: str | None = None
    graphs: list[MarkerGraph] = []


class SampleUnits(msgspec.Struct):
    """The units of the columns of samples."""

    time: str = "ms"
    eventDelay: str = "ms"
    threadCPUDelta: str = "µs"


class Meta(msgspec.Struct, omit_defaults=True, kw_only=True):
    """`meta`: the facts of the whole profile. `startTime` is epoch ms; `profiling…Time` are ms after it."""

    version: int
    preprocessedProfileVersion: int
    interval: float
    startTime: int
    profilingStartTime: float
    profilingEndTime: float
    processType: int
    stackwalk: int
    product: str
    symbolicated: bool
    symbolicationNotSupported: bool
    usesOnlyOneStackType: bool
    sourceCodeIsNotOnSearchfox: bool
    keepProfileThreadOrder: bool
    importedFrom: str
    categories: list[Category]
    markerSchema: list[MarkerSchema]
    initialVisibleThreads: list[int]
    initialSelectedThreads: list[int]
    extra: list[ExtraSection]
    misc: str | None = None
    appBuildID: str | None = None
    sourceURL: str | None = None
    arguments: str | None = None
    sampleUnits: SampleUnits | None = None


class StackTable(msgspec.Struct):
    """Call paths. `prefixOffset` 0 is a root, k the row k above. Callers come strictly before callees."""

    length: int
    frame: list[int]
    prefixOffset: list[int]


class FrameTable(msgspec.Struct, kw_only=True):
    """Frames of stacks: a func with a category. `line` and `column` tell where it was executing."""

    length: int
    address: list[int]
    inlineDepth: list[int]
    category: list[int]
    subcategory: list[int]
    func: list[int]
    nativeSymbol: list[None]
    innerWindowID: list[int]
    line: list[int | None]
    column: list[int | None]
    originalLocation: list[int | None]


class FuncTable(msgspec.Struct, kw_only=True):
    """Funcs. The viewer distinguishes call nodes by row, not by name. Resource -1 dims the row in the call tree."""

    length: int
    name: list[int]
    isJS: list[bool]
    relevantForJS: list[bool]
    resource: list[int]
    source: list[int | None]
    lineNumber: list[int | None]
    columnNumber: list[int | None]
    originalLocation: list[int | None]


class ResourceTable(msgspec.Struct, kw_only=True):
    """Where funcs were loaded from, by origin. `lib` is for native code and was removed in version 70."""

    length: int
    lib: list[None]
    name: list[int]
    host: list[int | None]
    type: list[int]


class NativeSymbols(msgspec.Struct, kw_only=True):
    """Symbols of native code: we write none."""

    length: int = 0
    libIndex: list[int] = []
    address: list[int] = []
    name: list[int] = []
    functionSize: list[int] = []


class Sources(msgspec.Struct, kw_only=True):
    """Source files by URL or path. `startLine` and `startColumn` are 1, 1 for a whole file."""

    length: int
    id: list[None]
    filename: list[int]
    startLine: list[int]
    startColumn: list[int]
    sourceMapURL: list[int | None]
    content: list[None] | TextColumn


class SourceLocationTable(msgspec.Struct):
    """Positions in original sources, the targets of `originalLocation` columns."""

    length: int
    source: list[int]
    line: list[int]
    column: list[int]


class Shared(msgspec.Struct, kw_only=True):
    """The tables that all threads share."""

    stringArray: list[str]
    stackTable: StackTable
    frameTable: FrameTable
    funcTable: FuncTable
    resourceTable: ResourceTable
    nativeSymbols: NativeSymbols
    sources: Sources
    sourceLocationTable: SourceLocationTable


class Samples(msgspec.Struct, kw_only=True):
    """Samples. `timeDeltas[0]` is the time of the first one, the others are steps; a `stack` may be null.

    Weights are ms; a difference has negative ones. The viewer counts only samples with a stack.
    """

    length: int
    stack: list[int | None]
    timeDeltas: list[float]
    weight: list[float]
    weightType: str


class ClockedSamples(Samples, kw_only=True):
    """Samples on a real clock. `threadCPUDelta` is how long the thread was busy since the previous sample, µs."""

    threadCPUDelta: list[int]


class Markers(msgspec.Struct, kw_only=True):
    """Markers in order of start. `phase` 0 is an instant, 1 an interval; `data.type` names the schema."""

    length: int = 0
    data: list[dict[str, object]] = []
    name: list[int] = []
    startTime: list[float] = []
    endTime: list[float | None] = []
    phase: list[int] = []
    category: list[int] = []


class Thread(msgspec.Struct, kw_only=True):
    """A track: a process's own if `isMainThread`, else one below that.

    With pid "0" the viewer draws no "PID" line. A `processType` of "default" would make it the parent process. The
    viewer greys it out outside of its times.
    """

    name: str
    processName: str
    samples: Samples
    isMainThread: bool = True
    pid: str = "0"
    tid: int = 1
    processType: str = "tab"
    processStartupTime: float = 0
    processShutdownTime: float | None = None
    registerTime: float = 0
    unregisterTime: float | None = None
    pausedRanges: list[None] = []
    showMarkersInTimeline: bool = True
    markers: Markers = msgspec.field(default_factory=Markers)


class Profile(msgspec.Struct):
    """The whole file."""

    meta: Meta
    libs: list[None]
    shared: Shared
    threads: list[Thread]
