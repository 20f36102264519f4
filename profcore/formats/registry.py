"""The formats an export can be written in, by the name the read API and `export_profile` use.

A format is one module with a function for each kind of export that it can write (`kinds`). Other kinds are refused
before any query to the database.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, assert_never

from profcore.formats import collapsed, speedscope, table
from profcore.formats.chrome import cpuprofile, trace_events
from profcore.formats.firefox import writer as firefox
from profcore.formats.pprof import writer as pprof
from profcore.formats.slice import DifferenceExport, Export, SegmentedExport, SliceExport, TimelineExport

Kind = Literal["slice", "segments", "timeline", "difference"]


class UnsupportedKind(ValueError):
    """A format cannot write this kind of export."""


def kind_of(export: Export) -> Kind:
    """Returns the kind of an export."""
    match export:
        case SliceExport():
            return "slice"
        case SegmentedExport():
            return "segments"
        case TimelineExport():
            return "timeline"
        case DifferenceExport():
            return "difference"
        case _:
            assert_never(export)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """One format: `write` yields an export's file in pieces; `suffix` ends its file name, `purpose` names its readers.

    Files are not compressed, except for formats that include compression (`is_gzip`).

    Each function writes one kind; None means that the format cannot express it. Every format writes a slice. Equal
    exports give equal bytes. With `needs_all` the size guard must not remove anything: more call nodes do not make the
    file larger.
    """

    name: str
    title: str
    purpose: str
    media_type: str
    suffix: str
    write_slice: Callable[[SliceExport], Iterator[bytes]]
    write_segments: Callable[[SegmentedExport], Iterator[bytes]] | None = None
    write_timeline: Callable[[TimelineExport], Iterator[bytes]] | None = None
    write_difference: Callable[[DifferenceExport], Iterator[bytes]] | None = None
    is_gzip: bool = False
    needs_all: bool = False
    has_engine_leaves: bool = False  # whether it supports `TimelineExport.engine_leaves`
    has_source_texts: bool = False  # whether it writes `contents`

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of export that it can write."""
        written: tuple[tuple[Kind, object], ...] = (
            ("slice", self.write_slice),
            ("segments", self.write_segments),
            ("timeline", self.write_timeline),
            ("difference", self.write_difference),
        )
        return tuple(kind for kind, write in written if write is not None)

    def write(self, export: Export) -> Iterator[bytes]:
        """Yields the file of an export. Raises `UnsupportedKind` at once if the format cannot express its kind."""
        match export:
            case SliceExport():
                return self.write_slice(export)
            case SegmentedExport() if self.write_segments is not None:
                return self.write_segments(export)
            case TimelineExport() if self.write_timeline is not None:
                return self.write_timeline(export)
            case DifferenceExport() if self.write_difference is not None:
                return self.write_difference(export)
        raise UnsupportedKind(f"{self.title} has no way to write a {kind_of(export)}.")


FIREFOX: Final = Exporter(
    name="firefox",
    title="Firefox Profiler",
    purpose="Firefox Profiler, samply",
    media_type="application/json",
    suffix=".json",
    write_slice=firefox.write_profile,
    write_segments=firefox.write_segments,
    write_timeline=firefox.write_views,
    write_difference=firefox.write_difference,
    has_engine_leaves=True,
    has_source_texts=True,
)
CPUPROFILE: Final = Exporter(
    name="cpuprofile",
    title="Chrome CPU profile",
    purpose="Chrome DevTools, VS Code",
    media_type="application/json",
    suffix=".cpuprofile",
    write_slice=cpuprofile.write_slice,
    write_timeline=cpuprofile.write_timeline,
    has_engine_leaves=True,
)
TRACE_EVENT: Final = Exporter(
    name="trace-event",
    title="Trace events",
    purpose="Chrome DevTools, Perfetto",
    media_type="application/json",
    suffix=".trace.json",
    write_slice=trace_events.write_slice,
    write_segments=trace_events.write_segments,
    write_timeline=trace_events.write_timeline,
    has_engine_leaves=True,
)
SPEEDSCOPE: Final = Exporter(
    name="speedscope",
    title="speedscope",
    purpose="speedscope.app",
    media_type="application/json",
    suffix=".speedscope.json",
    write_slice=speedscope.write_slice,
    write_segments=speedscope.write_segments,
    write_timeline=speedscope.write_timeline,
    write_difference=speedscope.write_difference,
    has_engine_leaves=True,
)
COLLAPSED: Final = Exporter(
    name="collapsed",
    title="Collapsed stacks",
    purpose="FlameGraph, inferno",
    media_type="text/plain; charset=utf-8",
    suffix=".collapsed.txt",
    write_slice=collapsed.write_slice,
    write_segments=collapsed.write_segments,
    write_timeline=collapsed.write_timeline,
    write_difference=collapsed.write_difference,
    has_engine_leaves=True,
)
PPROF: Final = Exporter(
    name="pprof",
    title="pprof",
    purpose="go tool pprof",
    media_type="application/octet-stream",
    suffix=".pb.gz",
    write_slice=pprof.write_slice,
    write_segments=pprof.write_segments,
    write_timeline=pprof.write_timeline,
    write_difference=pprof.write_difference,
    is_gzip=True,
    has_engine_leaves=True,
)
CSV: Final = Exporter(
    name="csv",
    title="Table (CSV)",
    purpose="spreadsheets",
    media_type="text/csv; charset=utf-8; header=present",
    suffix=".csv",
    write_slice=table.write_slice,
    write_segments=table.write_segments,
    write_difference=table.write_difference,
    needs_all=True,
)

# In the order of the menu of exports.
EXPORTERS: Final[Mapping[str, Exporter]] = MappingProxyType(
    {exporter.name: exporter for exporter in (FIREFOX, CPUPROFILE, TRACE_EVENT, SPEEDSCOPE, COLLAPSED, PPROF, CSV)}
)

# One trace's envelope as it was received. It has no exporter: nothing is written, and not everyone may read it.
RAW: Final = "raw"
FORMATS: Final = (*EXPORTERS, RAW)


def names_that_write(kind: Kind) -> list[str]:
    """Returns the names of the formats that can write a kind of export."""
    return [name for name, exporter in EXPORTERS.items() if kind in exporter.kinds]
