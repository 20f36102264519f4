"""Charts as pprof profiles, for `go tool pprof` and other tools that read its format.

Every sample has two values: samples, and time in µs, which is shown by default. Time without a stack is left out, but
the comments have its sum.
"""

from collections.abc import Iterator
from typing import Final

from profcore.formats.chart.model import Chart, ChartFunc, ChartPlace, Paths, Track
from profcore.formats.chart.parts import chart_of_difference, chart_of_segments
from profcore.formats.chart.slices import chart_of_slice
from profcore.formats.chart.views import chart_of_views
from profcore.formats.pprof.messages import (
    Strings,
    bytes_field,
    function,
    label,
    location,
    mapping,
    number_field,
    sample,
    value_type,
    varint,
)
from profcore.formats.slice import DifferenceExport, SegmentedExport, SliceExport, TimelineExport
from profcore.formats.streaming import gather, gzip_stream

SAMPLE: Final = 2
MAPPING: Final = 3
LOCATION: Final = 4
FUNCTION: Final = 5
MAPPING_ID: Final = 1  # pprof needs one: it stands for the binary, and here for the project
# pprof's own label: the percentages of a difference are relative to its samples.
BASE_LABEL: Final = "pprof::base"
WEB_LINK: Final = ("https://", "http://")


def write_slice(export: SliceExport) -> Iterator[bytes]:
    """Yields the pprof profile of a slice, gzipped, in pieces; equal input gives equal bytes."""
    yield from write_chart(chart_of_slice(export))


def write_timeline(export: TimelineExport) -> Iterator[bytes]:
    """Yields the pprof profile of some views; the label `start` of a sample is its time on the view's clock."""
    yield from write_chart(chart_of_views(export))


def write_segments(export: SegmentedExport) -> Iterator[bytes]:
    """Yields the pprof profile of a slice whose samples have their segment as a label, such as `release`."""
    yield from write_chart(chart_of_segments(export, with_whole=False))


def write_difference(export: DifferenceExport) -> Iterator[bytes]:
    """Yields head minus base, in ns per page view, as `pprof -diff_base` does: the base's samples are negative."""
    yield from write_chart(chart_of_difference(export), base="base")


def write_chart(chart: Chart, *, base: str | None = None) -> Iterator[bytes]:
    """Yields a chart. With several tracks, each sample has the name of its track as a label, by `tracks_by`.

    The other samples are compared with those of the track `base`.
    """
    return gzip_stream(gather(write_messages(chart, base)))


def write_messages(chart: Chart, base: str | None = None) -> Iterator[bytes]:
    """Yields the fields of a profile of a chart, which is not packed, piece by piece."""
    strings, paths = Strings(), Paths(chart)
    yield _head(chart, strings)
    for index, func in enumerate(paths.funcs):
        yield _func(index + 1, func, strings)
    labels = [_track_labels(chart, track, base, strings) for track in chart.tracks]
    start_key, unit = strings.intern("start"), strings.intern(chart.unit)
    yield strings.encode()
    ids = [varint(index + 1) for index in range(len(paths.funcs))]
    for track, shared in zip(chart.tracks, labels, strict=True):
        now, sign = track.start_us, -1 if track.name == base else 1
        for node, us, samples in zip(track.node, track.us, track.samples, strict=True):
            if node >= 0:
                clock_labels = [label(start_key, number=now, unit=unit)] if chart.is_clock else []
                stack = b"".join([ids[func] for func in reversed(paths.of(node))])
                values = (samples * sign, us * sign) if base is None else (us * sign,)
                yield bytes_field(SAMPLE, sample(stack, values, [*shared, *clock_labels]))
            now += us


def _track_labels(chart: Chart, track: Track, base: str | None, strings: Strings) -> list[bytes]:
    if base is not None:
        return [label(strings.intern(BASE_LABEL), text=strings.intern("true"))] if track.name == base else []
    if len(chart.tracks) == 1:
        return []
    return [label(strings.intern(chart.tracks_by), text=strings.intern(track.name))]


def _head(chart: Chart, strings: Strings) -> bytes:
    count = value_type(strings.intern("samples"), strings.intern("count"))
    time = value_type(strings.intern("time"), strings.intern(chart.unit))
    is_counted = chart.unit == "microseconds"  # a difference is per page view: samples would be fractions
    comments = [f"{chart.title}", *(f"{name}: {_text(fact)}" for name, fact in chart.metadata.items() if fact != [])]
    link = chart.metadata.get("link")
    return b"".join(
        (
            bytes_field(1, count) if is_counted else b"",
            bytes_field(1, time),
            bytes_field(MAPPING, mapping(MAPPING_ID, strings.intern(str(chart.metadata.get("project", ""))))),
            number_field(9, round(chart.started_at_ms * 1_000_000)),
            number_field(10, _duration_us(chart) * 1_000),
            bytes_field(11, value_type(strings.intern("time"), strings.intern("microseconds"))),
            number_field(12, chart.interval_us),
            *(number_field(13, strings.intern(comment)) for comment in comments),
            number_field(14, strings.intern("time")),
            number_field(15, strings.intern(link) if isinstance(link, str) and link.startswith(WEB_LINK) else 0),
        )
    )


def _duration_us(chart: Chart) -> int:
    """Returns the length of the longest track on its clock; for sums, how long all views together were observed."""
    if chart.is_clock:
        return max((track.end_us - track.start_us for track in chart.tracks), default=0)
    return chart.time.span_us


def _text(fact: object) -> str:
    return ", ".join(fact) if isinstance(fact, list) else str(fact)


def _func(number: int, func: ChartFunc, strings: Strings) -> bytes:
    """Returns a func and its location. The system name is its place in the script; pprof would demangle a real name."""
    place = func.place or ChartPlace("", None, None)
    line, column = place.line or 0, place.column or 0
    file, name = strings.intern(place.uri), strings.intern(func.label)
    written = function(number, name, strings.intern(_system_name(func)), file, line)
    return bytes_field(FUNCTION, written) + bytes_field(LOCATION, location(number, MAPPING_ID, number, line, column))


def _system_name(func: ChartFunc) -> str:
    if func.script is None:
        return "[group]" if func.is_made else "[built-in]" if func.is_page else "[pseudo]"
    return ":".join(str(word) for word in func.script if word is not None)
