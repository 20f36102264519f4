"""Chrome's `.cpuprofile`: what DevTools, VS Code and Node's tools open.

Weights are the steps between samples. Of several tracks one goes after the other: the format has one thread.
"""

from collections.abc import Iterator

from profcore.formats.chart import Chart
from profcore.formats.chart_slices import chart_of_slice
from profcore.formats.chart_views import chart_of_views
from profcore.formats.chrome.nodes import profile_nodes, sample_columns
from profcore.formats.slice import SliceExport, TimelineExport
from profcore.formats.streaming import encode_json, stream_array, stream_column


def write_slice(export: SliceExport) -> Iterator[bytes]:
    """Yields the CPU profile of a slice as JSON (UTF-8) in pieces; equal input gives equal bytes."""
    yield from write_chart(chart_of_slice(export))


def write_timeline(export: TimelineExport) -> Iterator[bytes]:
    """Yields the CPU profile of some views, each on its clock and one after the other."""
    yield from write_chart(chart_of_views(export))


def write_chart(chart: Chart) -> Iterator[bytes]:
    """Yields a chart. The axis begins at 0, a view's at its start or, if that is before it, at its first sample.

    Times of day would cost DevTools, which reckons in ms, digits; what is before 0 it leaves out. `fieldflame` is a
    field of our own, which readers pass over: the facts of the chart.
    """
    columns = sample_columns(chart.tracks, max(chart.tracks[0].start_us, 0) if chart.tracks else 0)
    yield b'{"nodes":'
    yield from stream_array(profile_nodes(chart))
    yield b',"startTime":0,"endTime":' + encode_json(sum(columns.deltas)) + b',"samples":'
    yield from stream_column(columns.samples)
    yield b',"timeDeltas":'
    yield from stream_column(columns.deltas)
    yield b',"fieldflame":' + encode_json({"title": chart.title, **chart.facts}) + b"}"
