"""Trace events as JSON: one file for DevTools, Perfetto and trace-viewer.

The stacks are there twice, on threads of their own. "Stacks" is a V8 CPU profile (events `Profile` and `ProfileChunk`),
which DevTools draws and Perfetto reads into its table of samples. "Call paths" is the same as nested slices, which
Perfetto and trace-viewer draw and sum up. Times are µs on the axis plus `ORIGIN_US`.

Source: the Trace Event Format, and DevTools' and Perfetto's own readers.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from profcore.formats.chart import Chart, ChartFunc, Track, find_calls
from profcore.formats.chart_slices import chart_of_slice
from profcore.formats.chrome.nodes import CallFrame, call_frames, sample_columns, trace_nodes
from profcore.formats.slice import SliceExport
from profcore.formats.streaming import encode_json

# DevTools takes a time of 0 for none; a small origin keeps every time exact where it is reckoned in fractions of ms.
ORIGIN_US: Final = 1_000_000
PID: Final = 1
STACKS_TID: Final = 1
PATHS_TID: Final = 2
TIDS_PER_TRACK: Final = 2
PROFILER: Final = "disabled-by-default-v8.cpu_profiler"
META: Final = "__metadata"
OURS: Final = "fieldflame"
CHUNK: Final = "ProfileChunk"
# Some 200 kB of usual nodes; and DevTools hands a chunk's rows to one call, whose arguments have a limit.
ROWS_PER_CHUNK: Final = 1_024
EVENTS_AT_ONCE: Final = 512


class Event(msgspec.Struct, omit_defaults=True):
    """One trace event. `cat`, `pid`, `tid` and `ts` are on every one: speedscope wants them on the first."""

    name: str
    cat: str
    ph: str
    pid: int
    tid: int
    ts: int
    args: dict[str, object]
    dur: int | None = None
    id: str | None = None
    s: str | None = None


def write_slice(export: SliceExport) -> Iterator[bytes]:
    """Yields the trace of a slice as JSON (UTF-8) in pieces; equal input gives equal bytes."""
    yield from write_chart(chart_of_slice(export))


def write_chart(chart: Chart) -> Iterator[bytes]:
    """Yields a chart: a pair of threads for each track. `metadata` holds the facts."""
    metadata = {"title": chart.title, "origin_us": ORIGIN_US, **chart.facts}
    yield b'{"displayTimeUnit":"ms","metadata":' + encode_json(metadata) + b',"traceEvents":['
    batch: list[Event] = []
    separator = b""
    for event in _events(chart):
        batch.append(event)
        if len(batch) == EVENTS_AT_ONCE or event.name == CHUNK:
            yield separator + encode_json(batch)[1:-1]
            separator = b","
            batch.clear()
    yield (separator if batch else b"") + encode_json(batch)[1:-1] + b"]}"


def _events(chart: Chart) -> Iterator[Event]:
    yield _label("process_name", PID, chart.title)
    frames = call_frames(chart, keep_apart=True)
    names = [name_slice(func) for func in chart.funcs]
    for index, track in enumerate(chart.tracks):
        stacks, paths = STACKS_TID + TIDS_PER_TRACK * index, PATHS_TID + TIDS_PER_TRACK * index
        suffix = f" – {track.name}" if len(chart.tracks) > 1 else ""
        yield _label("thread_name", stacks, f"Stacks{suffix}")
        yield _label("thread_name", paths, f"Call paths{suffix}")
        yield from _profile(chart, track, stacks, frames)
        yield from _slices(chart, track, paths, names)


def _label(what: str, tid: int, name: str) -> Event:
    return Event(what, META, "M", PID, tid, 0, {"name": name})


def _profile(chart: Chart, track: Track, tid: int, frames: list[CallFrame]) -> Iterator[Event]:
    start, end = ORIGIN_US + track.start_us, ORIGIN_US + track.end_us
    # DevTools draws no thread without an event of its own; the two marks say where the axis begins and ends, too.
    yield Event("axis begins", OURS, "I", PID, tid, start, {}, s="t")

    def chunk(fields: dict[str, object]) -> Event:
        return Event(CHUNK, PROFILER, "P", PID, tid, start, {"data": fields}, id=hex(tid))

    first: dict[str, object] = {"startTime": start, "source": "SelfProfiling"}
    yield Event("Profile", PROFILER, "P", PID, tid, start, {"data": first}, id=hex(tid))
    nodes = trace_nodes(chart, frames)
    while rows := list(islice(nodes, ROWS_PER_CHUNK)):
        yield chunk({"cpuProfile": {"nodes": rows}})
    columns = sample_columns([track])
    for first_row in range(0, len(columns.samples), ROWS_PER_CHUNK):
        part = slice(first_row, first_row + ROWS_PER_CHUNK)
        yield chunk({"cpuProfile": {"samples": columns.samples[part]}, "timeDeltas": columns.deltas[part]})
    yield chunk({"endTime": end})
    yield Event("axis ends", OURS, "I", PID, tid, end, {}, s="t")


def _slices(chart: Chart, track: Track, tid: int, names: Sequence[str]) -> Iterator[Event]:
    args = [_args(func) for func in chart.funcs]
    for call in find_calls(chart, track):
        func = chart.func[call.node]
        yield Event(names[func], OURS, "X", PID, tid, ORIGIN_US + call.start_us, args[func], dur=call.us)


def _args(func: ChartFunc) -> dict[str, object]:
    """Returns what a slice says of its func beside its name; positions here are 1-based, for people."""
    if func.place is None:
        return {}
    return {name: value for name, value in func.place._asdict().items() if value is not None}


def name_slice(func: ChartFunc) -> str:
    """Returns a slice's name: label and place, since readers tell slices apart by it alone.

    It always has a bracket, so that no func is taken for an event of the browser's own: a page's func that is called
    `Layout` would end DevTools' reading.
    """
    place = func.place
    if place is None:
        return f"{func.label} [built-in]" if func.is_page else func.label
    words = [place.uri.rstrip("/").rpartition("/")[2], place.line, place.column]
    return f"{func.label} ({':'.join(str(word) for word in words if word is not None)})"
