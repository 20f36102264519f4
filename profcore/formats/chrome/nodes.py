"""Call frames and nodes of a V8 CPU profile: the shapes, and the nodes of a chart in these shapes.

Source: the DevTools protocol's domain `Profiler`. A node's id is its place plus 3: 1 is `(root)` and 2 is `(idle)`,
names that readers look for.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from profcore.formats.chart.model import BLANK, IDLE, Chart, ChartFunc, Track

ROOT_ID: Final = 1
IDLE_ID: Final = 2
FIRST_ID: Final = 3
NO_POSITION: Final = -1
# Of a profile, besides one for each run. A year has more intervals than viewers can draw: DevTools and the Firefox
# Profiler open this many at once (a file of 0.2 MB), and a path of 0.005 % of the time still has its sample.
MAX_SAMPLES: Final = 20_000
# Readers know these only by name, at any place: they drop idle time and move the collector onto another stack.
RESERVED: Final = frozenset({"(root)", "(idle)", "(program)", "(garbage collector)"})


class CallFrame(msgspec.Struct, kw_only=True):
    """A func, at its place in the script. `lineNumber` and `columnNumber` are 0-based, -1 if unknown."""

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
    """A call node in the shape of trace events: with its caller's id."""

    id: int
    callFrame: CallFrame
    parent: int | None = None


def name_func(func: ChartFunc) -> str:
    """Returns the label, marked if a page's func has a name that readers take for the engine's own time."""
    return f"{func.label} [page]" if func.label in RESERVED else func.label


def call_frames(chart: Chart, *, keep_apart: bool = False) -> list[CallFrame]:
    """Returns the call frame of every func of a chart. Script ids are numbers of URLs, "0" for none.

    DevTools takes two consecutive calls of a trace for one if script, name and line are equal, and most of a minified
    file is one line. With `keep_apart`, funcs that differ only in the column get separate scripts.
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
        return CallFrame(functionName=name, scriptId="0", url="", lineNumber=NO_POSITION, columnNumber=NO_POSITION)
    return CallFrame(
        functionName=name,
        scriptId="0",
        url=script.uri,
        lineNumber=_zero_based(script.line),
        columnNumber=_zero_based(script.column),
    )


def _zero_based(position: int | None) -> int:
    return NO_POSITION if position is None else position - 1


def _engine_frame(name: str) -> CallFrame:
    return CallFrame(functionName=name, scriptId="0", url="", lineNumber=NO_POSITION, columnNumber=NO_POSITION)


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
    """Yields the nodes that a track uses in the shape of trace events: without counts, callers before callees."""
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
    """Samples by node id, and the µs since the previous one; for the first, since the start of the profile."""

    samples: list[int]
    deltas: list[int]


def even_step_us(chart: Chart) -> int:
    """Returns the step for samples of a chart: the interval, or more if that were more than `MAX_SAMPLES` samples."""
    whole_us = sum(sum(track.us) for track in chart.tracks)
    return max(chart.interval_us, -(-whole_us // MAX_SAMPLES))


def sample_columns(tracks: Sequence[Track], first_us: int = 0, *, step_us: int = 0) -> SampleColumns:
    """Returns the samples of tracks, one after the other: one for each run longer than 0 µs.

    With `step_us`, runs that are not blank are cut into equal samples of about that length. Their sum is the same, and
    readers that count samples are right too. The first begins `first_us` after the start of the profile. A sample lasts
    until the next one, but readers differ on the length of the last one. So there is one more sample at the end, of
    `(root)`, at which nothing begins.
    """
    ids = {IDLE: IDLE_ID}
    columns = SampleColumns([], [])
    since = first_us
    for track in tracks:
        for node, us in zip(track.node, track.us, strict=True):
            if us <= 0:
                continue
            is_cut = step_us > 0 and node != BLANK
            count = max((2 * us + step_us) // (2 * step_us), 1) if is_cut else 1
            columns.samples += [node + FIRST_ID if node >= 0 else ids.get(node, ROOT_ID)] * count
            columns.deltas.append(since)
            columns.deltas += [us * piece // count - us * (piece - 1) // count for piece in range(1, count)]
            since = us - us * (count - 1) // count
    columns.samples.append(ROOT_ID)
    columns.deltas.append(since)
    return columns
