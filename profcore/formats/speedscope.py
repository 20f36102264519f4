"""speedscope's own file format: sampled profiles with weights in µs.

Source: the schema that the project publishes with its package. A sample is a whole stack, root first. Time without a
stack is a sample of an empty one: a gap. `fieldflame` is a field of our own, which readers pass over.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from profcore.formats.chart import Chart, Track
from profcore.formats.chart_slices import chart_of_slice
from profcore.formats.chart_views import chart_of_views
from profcore.formats.slice import SliceExport, TimelineExport
from profcore.formats.streaming import encode_json, stream_array

SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"
EXPORTER: Final = "Fieldflame"
# A row is a whole stack: so many rows of the deepest that a browser sends (255 frames) are some 200 kB.
STACKS_AT_ONCE: Final = 128


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
    """Yields the speedscope file of some views: a profile for each, on its clock."""
    yield from write_chart(chart_of_views(export))


def write_chart(chart: Chart) -> Iterator[bytes]:
    """Yields a chart: a profile for each track, over one table of frames."""
    head = {"$schema": SCHEMA, "exporter": EXPORTER, "name": chart.title, "activeProfileIndex": 0}
    yield encode_json(head)[:-1] + b',"fieldflame":' + encode_json(chart.facts) + b',"shared":{"frames":'
    yield from stream_array(_frames(chart))
    yield b'},"profiles":['
    for index, track in enumerate(chart.tracks):
        yield b"," if index else b""
        yield from _profile(chart, track)
    yield b"]}"


def _frames(chart: Chart) -> Iterator[Frame]:
    for func in chart.funcs:
        place = func.place
        yield Frame(func.label) if place is None else Frame(func.label, place.uri, place.line, place.column)


def _profile(chart: Chart, track: Track) -> Iterator[bytes]:
    head = {
        "type": "sampled",
        "name": track.name,
        "unit": "microseconds",
        "startValue": track.start_us,
        "endValue": track.end_us,
    }
    runs = [(node, us) for node, us in zip(track.node, track.us, strict=True) if us > 0]
    yield encode_json(head)[:-1] + b',"samples":'
    yield from stream_array((chart.path(node) for node, _ in runs), STACKS_AT_ONCE)
    yield b',"weights":'
    yield from stream_array([us for _, us in runs])
    yield b"}"
