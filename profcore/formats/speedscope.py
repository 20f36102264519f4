"""speedscope's own file format: sampled profiles with weights in µs.

Source: the schema that the project publishes with its package. A sample is a whole stack, root first. Time without a
stack is a sample with an empty stack: a gap. `fieldflame` is our own field, which readers ignore.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from profcore.formats.chart.model import Chart, ChartFunc, Paths, Track, Unit
from profcore.formats.chart.parts import chart_of_difference, chart_of_segments
from profcore.formats.chart.slices import chart_of_slice
from profcore.formats.chart.views import chart_of_views
from profcore.formats.slice import DifferenceExport, SegmentedExport, SliceExport, TimelineExport
from profcore.formats.streaming import encode_json, stream_array, stream_column

SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"
EXPORTER: Final = "Fieldflame"


class Frame(msgspec.Struct, omit_defaults=True):
    """A func. `line` and `col` are 1-based."""

    name: str
    file: str | None = None
    line: int | None = None
    col: int | None = None


def write_slice(export: SliceExport) -> Iterator[bytes]:
    """Yields the speedscope file of a slice as JSON (UTF-8) in pieces; equal input gives equal bytes."""
    yield from write_chart(chart_of_slice(export))


def write_timeline(export: TimelineExport) -> Iterator[bytes]:
    """Yields the speedscope file of some views: a profile for each, on its own clock."""
    yield from write_chart(chart_of_views(export))


def write_segments(export: SegmentedExport) -> Iterator[bytes]:
    """Yields the speedscope file of a slice and its segments: a profile for each, the whole first."""
    yield from write_chart(chart_of_segments(export, with_whole=True))


def write_difference(export: DifferenceExport) -> Iterator[bytes]:
    """Yields the speedscope file of a difference: two profiles, base and head, in ns per page view.

    The format has no negative weights, so the file has the two sides for a comparison by eye.
    """
    yield from write_chart(chart_of_difference(export))


def write_chart(chart: Chart) -> Iterator[bytes]:
    """Yields a chart: a profile for each track, over one table of frames."""
    paths = Paths(chart)
    head = {"$schema": SCHEMA, "exporter": EXPORTER, "name": chart.title, "activeProfileIndex": 0}
    yield encode_json(head)[:-1] + b',"fieldflame":' + encode_json(chart.metadata) + b',"shared":{"frames":'
    yield from stream_array(map(_frame, paths.funcs))
    yield b'},"profiles":['
    for index, track in enumerate(chart.tracks):
        yield b"," if index else b""
        yield from _profile(track, paths, chart.unit)
    yield b"]}"


def _frame(func: ChartFunc) -> Frame:
    place = func.place
    return Frame(func.label) if place is None else Frame(func.label, place.uri, place.line, place.column)


def _profile(track: Track, paths: Paths, unit: Unit) -> Iterator[bytes]:
    head = {
        "type": "sampled",
        "name": track.name,
        "unit": unit,
        "startValue": track.start_us,
        "endValue": track.end_us,
    }
    runs = [(node, us) for node, us in zip(track.node, track.us, strict=True) if us > 0]
    yield encode_json(head)[:-1] + b',"samples":'
    yield from stream_array(paths.of(node) for node, _ in runs)
    yield b',"weights":'
    yield from stream_column([us for _, us in runs])
    yield b"}"
