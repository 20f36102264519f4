"""Chrome's `.cpuprofile`, which DevTools, VS Code and Node's tools open.

Weights are the steps between samples. Steps are about even, since some readers count samples. The format has one
thread, so several tracks follow one another.
"""

from collections.abc import Iterator
from typing import Final

from profcore.formats.chart.model import Chart
from profcore.formats.chart.slices import chart_of_slice
from profcore.formats.chart.views import chart_of_views
from profcore.formats.chrome.nodes import even_step_us, profile_nodes, sample_columns
from profcore.formats.slice import SliceExport, TimelineExport
from profcore.formats.streaming import encode_json, stream_array, stream_column

# The Firefox Profiler loses a sample at 0.
START_US: Final = 1_000_000


def write_slice(export: SliceExport) -> Iterator[bytes]:
    """Yields the CPU profile of a slice as JSON (UTF-8) in pieces; equal input gives equal bytes."""
    yield from write_chart(chart_of_slice(export))


def write_timeline(export: TimelineExport) -> Iterator[bytes]:
    """Yields the CPU profile of some views, each on its own clock, one after the other."""
    yield from write_chart(chart_of_views(export))


def write_chart(chart: Chart) -> Iterator[bytes]:
    """Yields a chart. The axis begins at 1 s. For a view, that is its start, or its first sample if that is earlier.

    DevTools computes in ms, so times of day would lose digits there. It leaves out everything before the start.
    `fieldflame` is our own field with the facts of the chart, which readers ignore.
    """
    first_us = max(chart.tracks[0].start_us, 0) if chart.tracks else 0
    columns = sample_columns(chart.tracks, first_us, step_us=even_step_us(chart))
    end_us = START_US + sum(columns.deltas)
    yield b'{"nodes":'
    yield from stream_array(profile_nodes(chart))
    yield b',"startTime":' + encode_json(START_US) + b',"endTime":' + encode_json(end_us) + b',"samples":'
    yield from stream_column(columns.samples)
    yield b',"timeDeltas":'
    yield from stream_column(columns.deltas)
    yield b',"fieldflame":' + encode_json({"title": chart.title, **chart.metadata}) + b"}"
