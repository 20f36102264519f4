"""Call frames and nodes of a V8 CPU profile: the shapes, and the nodes of a chart in them.

Source: the DevTools protocol's domain `Profiler`. A node's id is its place plus 3: 1 is `(root)`, 2 is `(idle)`, under
names that readers look for.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from profcore.formats.chart import IDLE, Chart, ChartFunc, Track

ROOT_ID: Final = 1
IDLE_ID: Final = 2
FIRST_ID: Final = 3
NO_POSITION: Final = -1
# Readers know these by name alone, wherever they stand: idle time is dropped, the collector moved onto another stack.
RESERVED: Final = frozenset({"(root)", "(idle)", "(program)", "(garbage collector)"})


class CallFrame(msgspec.Struct):
    """A func: where its script has it. `lineNumber` and `columnNumber` are 0-based, -1 where there are none."""

    functionName: str
    scriptId: str
    url: str
    lineNumber: int
    columnNumber: int


class ProfileNode(msgspec.Struct):
    """A call node. `hitCount` counts samples, `children` are ids, in the order of the tree."""

    id: int
    callFrame: CallFrame
    hitCount: int
    children: list[int]


class TraceNode(msgspec.Struct, omit_defaults=True):
    """A call node as trace events have it: by its caller's id."""

    id: int
    callFrame: CallFrame
    parent: int | None = None


def name_func(func: ChartFunc) -> str:
    """Returns the label, told apart where a page gave it a name that readers take for time of the engine's."""
    return f"{func.label} [page]" if func.label in RESERVED else func.label


def call_frames(chart: Chart, *, keep_apart: bool = False) -> list[CallFrame]:
    """Returns the call frame of every func of a chart. Script ids are numbers of URLs, "0" for none.

    DevTools takes two calls in a row of a trace for one if script, name and line are equal, and most of a minified
    file is one line: with `keep_apart`, funcs which nothing but the column tells apart get scripts of their own.
    """
    ids: dict[tuple[str, int], str] = {}
    alike: dict[tuple[str, str, int], int] = {}
    frames = []
    for func in chart.funcs:
        frame = _frame(func)
        if frame.url:
            key = frame.functionName, frame.url, frame.lineNumber
            nth = alike[key] = alike.get(key, -1) + 1
            frame.scriptId = ids.setdefault((frame.url, nth if keep_apart else 0), str(len(ids) + 1))
        frames.append(frame)
    return frames


def _frame(func: ChartFunc) -> CallFrame:
    name, script = name_func(func), func.script
    if script is None:
        return CallFrame(name, "0", "", NO_POSITION, NO_POSITION)
    return CallFrame(name, "0", script.uri, _zero_based(script.line), _zero_based(script.column))


def _zero_based(position: int | None) -> int:
    return NO_POSITION if position is None else position - 1


def _engine_frame(name: str) -> CallFrame:
    return CallFrame(name, "0", "", NO_POSITION, NO_POSITION)


def profile_nodes(chart: Chart) -> Iterator[ProfileNode]:
    """Yields the nodes of a CPU profile: `(root)`, `(idle)`, then the chart's."""
    frames = call_frames(chart)
    children: list[list[int]] = [[] for _ in chart.func]
    roots = [IDLE_ID]
    for node, prefix in enumerate(chart.prefix):
        (children[prefix] if prefix >= 0 else roots).append(node + FIRST_ID)
    _, counts = chart.sum_runs()
    yield ProfileNode(ROOT_ID, _engine_frame("(root)"), 0, roots)
    yield ProfileNode(IDLE_ID, _engine_frame("(idle)"), _idle_samples(chart), [])
    for node, func in enumerate(chart.func):
        yield ProfileNode(node + FIRST_ID, frames[func], counts[node], children[node])


def trace_nodes(chart: Chart, track: Track, frames: Sequence[CallFrame]) -> Iterator[TraceNode]:
    """Yields the nodes that a track uses, as trace events have them: without counts, callers before callees."""
    is_used = [False] * len(chart.func)
    for leaf in track.node:
        node = leaf
        while node >= 0 and not is_used[node]:
            is_used[node] = True
            node = chart.prefix[node]
    yield TraceNode(ROOT_ID, _engine_frame("(root)"))
    yield TraceNode(IDLE_ID, _engine_frame("(idle)"), ROOT_ID)
    for node, (func, prefix) in enumerate(zip(chart.func, chart.prefix, strict=True)):
        if is_used[node]:
            yield TraceNode(node + FIRST_ID, frames[func], prefix + FIRST_ID if prefix >= 0 else ROOT_ID)


def _idle_samples(chart: Chart) -> int:
    return sum(
        samples
        for track in chart.tracks
        for node, samples in zip(track.node, track.samples, strict=True)
        if node == IDLE
    )


class SampleColumns(msgspec.Struct):
    """Samples by node id, and the µs from the one before; the first one's from the start of the profile."""

    samples: list[int]
    deltas: list[int]


def sample_columns(tracks: Sequence[Track], first_us: int = 0) -> SampleColumns:
    """Returns the samples of tracks, one after the other: one for each run that lasts.

    The first begins `first_us` after the start of the profile. A sample lasts until the next one. So there is one more
    at the end, of `(root)`, at which nothing begins: what readers make of the last one's length differs.
    """
    ids = {IDLE: IDLE_ID}
    columns = SampleColumns([], [])
    since = first_us
    for track in tracks:
        for node, us in zip(track.node, track.us, strict=True):
            if us > 0:
                columns.samples.append(node + FIRST_ID if node >= 0 else ids.get(node, ROOT_ID))
                columns.deltas.append(since)
                since = us
    columns.samples.append(ROOT_ID)
    columns.deltas.append(since)
    return columns
