"""Trace events as JSON: one file for DevTools, Perfetto and trace-viewer.

The file has the stacks twice, on separate threads. "Stacks" is a V8 CPU profile (events `Profile` and `ProfileChunk`),
which DevTools draws and Perfetto reads into its table of samples. "Call paths" is the same as nested slices, which
Perfetto and trace-viewer draw and sum. A view's marks are on a third thread.

Source: the Trace Event Format, and DevTools' and Perfetto's own readers.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from profcore.formats.chart.model import Chart, ChartFunc, Track, find_calls
from profcore.formats.chart.parts import chart_of_segments
from profcore.formats.chart.slices import chart_of_slice
from profcore.formats.chart.views import chart_of_views
from profcore.formats.chrome.nodes import CallFrame, call_frames, even_step_us, sample_columns, trace_nodes
from profcore.formats.slice import SegmentedExport, SliceExport, TimelineExport
from profcore.formats.streaming import encode_json, stream_array

# DevTools takes a time of 0 for none. A small origin keeps every time exact for readers that use fractions of ms.
ORIGIN_US: Final = 1_000_000
PID: Final = 1
STACKS_TID: Final = 1
PATHS_TID: Final = 2
MARKS_TID: Final = 3
TIDS_PER_TRACK: Final = 3
PROFILER: Final = "disabled-by-default-v8.cpu_profiler"
META: Final = "__metadata"
OURS: Final = "fieldflame"
CHUNK: Final = "ProfileChunk"
# About 200 kB of usual nodes. DevTools passes a chunk's rows to one call, and the number of arguments is limited.
ROWS_PER_CHUNK: Final = 1_024


class Event(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One trace event. Each has `cat`, `pid`, `tid` and `ts`: speedscope expects them on the first."""

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


def write_timeline(export: TimelineExport) -> Iterator[bytes]:
    """Yields the trace of some views: threads for each, with its marks. On the common clock all views start at once."""
    yield from write_chart(chart_of_views(export))


def write_segments(export: SegmentedExport) -> Iterator[bytes]:
    """Yields the trace of a slice and its segments: threads for each, with those of the whole first."""
    yield from write_chart(chart_of_segments(export, with_whole=True))


def write_chart(chart: Chart) -> Iterator[bytes]:
    """Yields a chart: threads for each track. `metadata` has the facts, and the clock's time at 0 of the axis."""
    origin_us = find_origin(chart)
    metadata = {"title": chart.title, "origin_us": origin_us, **chart.metadata}
    yield escape_for_perfetto(b'{"displayTimeUnit":"ms","metadata":' + encode_json(metadata) + b',"traceEvents":')
    yield from map(escape_for_perfetto, stream_array(_events(chart, origin_us)))
    yield b"}"


def escape_for_perfetto(piece: bytes) -> bytes:
    r"""Returns equivalent JSON without `\\` and DEL: a function's name with one of them would break the whole file.

    Perfetto's tokenizer takes a quote after any backslash for an escaped one, so that it finds no end of a name that
    ends with a backslash. It also stops at a DEL outside of events. The piece must not end within an escape.
    """
    return piece.replace(b"\\\\", rb"\u005c").replace(b"\x7f", rb"\u007f")


def find_origin(chart: Chart) -> int:
    """Returns the time of the axis' 0 on the file's clock, such that no time in the file is below `ORIGIN_US`."""
    starts = [track.start_us for track in chart.tracks]
    starts += [mark.start_us for track in chart.tracks for mark in track.marks]
    return ORIGIN_US - min(0, *starts, 0)


def _events(chart: Chart, origin_us: int) -> Iterator[Event]:
    yield _label("process_name", PID, chart.title)
    frames = call_frames(chart, keep_apart=True)
    names = [name_slice(func) for func in chart.funcs]
    for index, track in enumerate(chart.tracks):
        stacks, paths, marks = (tid + TIDS_PER_TRACK * index for tid in (STACKS_TID, PATHS_TID, MARKS_TID))
        suffix = f" – {track.name}" if len(chart.tracks) > 1 else ""
        yield _label("thread_name", stacks, f"Stacks{suffix}")
        yield _label("thread_name", paths, f"Call paths{suffix}")
        yield from _profile(chart, track, stacks, frames, origin_us)
        yield from _slices(chart, track, paths, names, origin_us)
        if track.marks:
            yield _label("thread_name", marks, f"Marks{suffix}")
            yield from _marks(track, marks, origin_us)


def _label(what: str, tid: int, name: str) -> Event:
    return Event(name=what, cat=META, ph="M", pid=PID, tid=tid, ts=0, args={"name": name})


def _profile(chart: Chart, track: Track, tid: int, frames: Sequence[CallFrame], origin_us: int) -> Iterator[Event]:
    start, end = origin_us + track.start_us, origin_us + track.end_us
    # DevTools draws a thread only if it has an event; these two also tell where the axis begins and ends.
    yield Event(name="axis begins", cat=OURS, ph="I", pid=PID, tid=tid, ts=start, args={}, s="t")

    def chunk(fields: dict[str, object]) -> Event:
        return Event(name=CHUNK, cat=PROFILER, ph="P", pid=PID, tid=tid, ts=start, args={"data": fields}, id=hex(tid))

    first: dict[str, object] = {"startTime": start, "source": "SelfProfiling"}
    yield Event(name="Profile", cat=PROFILER, ph="P", pid=PID, tid=tid, ts=start, args={"data": first}, id=hex(tid))
    nodes = trace_nodes(chart, track, frames)
    while rows := list(islice(nodes, ROWS_PER_CHUNK)):
        # The Firefox Profiler passes over the nodes of a chunk without `timeDeltas`.
        yield chunk({"cpuProfile": {"nodes": rows, "samples": []}, "timeDeltas": []})
    columns = sample_columns([track], step_us=even_step_us(chart))
    for first_row in range(0, len(columns.samples), ROWS_PER_CHUNK):
        part = slice(first_row, first_row + ROWS_PER_CHUNK)
        yield chunk({"cpuProfile": {"samples": columns.samples[part]}, "timeDeltas": columns.deltas[part]})
    yield chunk({"endTime": end})
    yield Event(name="axis ends", cat=OURS, ph="I", pid=PID, tid=tid, ts=end, args={}, s="t")


def _slices(chart: Chart, track: Track, tid: int, names: Sequence[str], origin_us: int) -> Iterator[Event]:
    args = [_args(func) for func in chart.funcs]
    for call in find_calls(chart, track):
        func = chart.func[call.node]
        yield Event(
            name=names[func],
            cat=OURS,
            ph="X",
            pid=PID,
            tid=tid,
            ts=origin_us + call.start_us,
            args=args[func],
            dur=call.us,
        )


def _marks(track: Track, tid: int, origin_us: int) -> Iterator[Event]:
    """Yields a view's marks: instants, and for durations a pair of begin and end, since they may overlap."""
    for index, mark in enumerate(track.marks):
        name, start = f"mark: {mark.name}", origin_us + mark.start_us
        if mark.us == 0:
            yield Event(name=name, cat=OURS, ph="I", pid=PID, tid=tid, ts=start, args=dict(mark.facts), s="t")
            continue
        pair = f"{hex(tid)}.{index}"
        yield Event(name=name, cat=OURS, ph="b", pid=PID, tid=tid, ts=start, args=dict(mark.facts), id=pair)
        yield Event(name=name, cat=OURS, ph="e", pid=PID, tid=tid, ts=start + mark.us, args={}, id=pair)


def _args(func: ChartFunc) -> dict[str, object]:
    """Returns the facts of a slice's func in addition to its name; positions are 1-based here, for people."""
    if func.place is None:
        return {}
    return {name: value for name, value in func.place._asdict().items() if value is not None}


def name_slice(func: ChartFunc) -> str:
    """Returns a slice's name: label and place, since readers distinguish slices only by name.

    It always has a bracket, so that no func is taken for an event of the browser. DevTools could not read a file with a
    page's func called `Layout`.
    """
    place = func.place
    if place is None:
        kind = "group" if func.is_made else "built-in"
        return f"{func.label} [{kind}]" if func.is_page else func.label
    parts = [place.uri.rstrip("/").rpartition("/")[2], place.line, place.column]
    return f"{func.label} ({':'.join(str(part) for part in parts if part is not None)})"
