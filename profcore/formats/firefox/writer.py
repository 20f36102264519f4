"""Exports as Firefox profiles (JSON, UTF-8), in pieces. Equal input gives equal bytes.

Weights are ms: µs / 1000, unrounded. No sample of an aggregate has unobserved time or the profiler's own; they are only
in `meta.extra`. The whole profile is built in memory, about 300 bytes per call node or sample.
"""

from collections.abc import Iterator

from profcore.formats.firefox.aggregate import build_difference, build_segments, build_slice
from profcore.formats.firefox.views import build_views
from profcore.formats.slice import DifferenceExport, SegmentedExport, SliceExport, TimelineExport
from profcore.formats.streaming import stream_json


def write_profile(export: SliceExport) -> Iterator[bytes]:
    """Yields the profile of a slice: one thread. Σ weight = js + hidden + engine + idle.

    Paths without time are left out.
    """
    yield from stream_json(build_slice(export))


def write_segments(export: SegmentedExport) -> Iterator[bytes]:
    """Yields the profile of a slice with a thread for the whole and one for each segment."""
    yield from stream_json(build_segments(export))


def write_views(export: TimelineExport) -> Iterator[bytes]:
    """Yields the profile of views on their real clocks, each a separate process. Raises `ValueError` for no views."""
    yield from stream_json(build_views(export))


def write_difference(export: DifferenceExport) -> Iterator[bytes]:
    """Yields the profile of head minus base, ms per page view, with both sides as threads."""
    yield from stream_json(build_difference(export))
