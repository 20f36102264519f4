"""The formats an export can be written in, by the name the read API and `export_profile` use.

A format is one module with a function for each kind of export it can write. A kind it has no function for is refused
before anything is asked of the database: `kinds` says which it has.
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
    """Returns the word for what an export is."""
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


@dataclass(frozen=True, slots=True)
class Exporter:
    """One format: `write` yields an export's file in pieces; `suffix` ends its file name.

    Files are not compressed, but for formats that are by themselves (`is_packed`, gzip).

    Each function writes one kind; None stands for a kind that the format has no way to say. Every format writes a
    slice. Equal exports give equal bytes. `needs_all` says that a size guard must leave out nothing: the file is no
    larger for more call nodes.
    """

    name: str
    title: str
    media_type: str
    suffix: str
    write_slice: Callable[[SliceExport], Iterator[bytes]]
    write_segments: Callable[[SegmentedExport], Iterator[bytes]] | None = None
    write_timeline: Callable[[TimelineExport], Iterator[bytes]] | None = None
    write_difference: Callable[[DifferenceExport], Iterator[bytes]] | None = None
    is_packed: bool = False
    needs_all: bool = False
    has_engine_leaves: bool = False  # whether it heeds `TimelineExport.engine_leaves`
    has_source_texts: bool = False  # whether it writes `contents`

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of export it can write."""
        written: tuple[tuple[Kind, object], ...] = (
            ("slice", self.write_slice),
            ("segments", self.write_segments),
            ("timeline", self.write_timeline),
            ("difference", self.write_difference),
        )
        return tuple(kind for kind, write in written if write is not None)

    def write(self, export: Export) -> Iterator[bytes]:
        """Yields the file of an export of any kind. Raises `UnsupportedKind` at once where it has no way to say it."""
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
    "firefox",
    "Firefox Profiler",
    "application/json",
    ".json",
    firefox.write_profile,
    firefox.write_segments,
    firefox.write_views,
    firefox.write_difference,
    has_engine_leaves=True,
    has_source_texts=True,
)
CPUPROFILE: Final = Exporter(
    "cpuprofile",
    "Chrome CPU profile",
    "application/json",
    ".cpuprofile",
    cpuprofile.write_slice,
    write_timeline=cpuprofile.write_timeline,
    has_engine_leaves=True,
)
TRACE_EVENT: Final = Exporter(
    "trace-event",
    "Trace events",
    "application/json",
    ".trace.json",
    trace_events.write_slice,
    trace_events.write_segments,
    trace_events.write_timeline,
    has_engine_leaves=True,
)
SPEEDSCOPE: Final = Exporter(
    "speedscope",
    "speedscope",
    "application/json",
    ".speedscope.json",
    speedscope.write_slice,
    speedscope.write_segments,
    speedscope.write_timeline,
    speedscope.write_difference,
    has_engine_leaves=True,
)
COLLAPSED: Final = Exporter(
    "collapsed",
    "Collapsed stacks",
    "text/plain; charset=utf-8",
    ".collapsed.txt",
    collapsed.write_slice,
    collapsed.write_segments,
    collapsed.write_timeline,
    collapsed.write_difference,
    has_engine_leaves=True,
)
PPROF: Final = Exporter(
    "pprof",
    "pprof",
    "application/octet-stream",
    ".pb.gz",
    pprof.write_slice,
    pprof.write_segments,
    pprof.write_timeline,
    pprof.write_difference,
    is_packed=True,
    has_engine_leaves=True,
)
CSV: Final = Exporter(
    "csv",
    "Table (CSV)",
    "text/csv; charset=utf-8; header=present",
    ".csv",
    table.write_slice,
    table.write_segments,
    write_difference=table.write_difference,
    needs_all=True,
)

EXPORTERS: Final[Mapping[str, Exporter]] = MappingProxyType(
    {exporter.name: exporter for exporter in (FIREFOX, CPUPROFILE, TRACE_EVENT, SPEEDSCOPE, COLLAPSED, PPROF, CSV)}
)

# One trace's envelope as it came. No exporter has it: nothing is written, and not everybody may read it.
RAW: Final = "raw"
FORMATS: Final = (*EXPORTERS, RAW)


def names_that_write(kind: Kind) -> list[str]:
    """Returns the names of the formats that can write a kind of export."""
    return [name for name, exporter in EXPORTERS.items() if kind in exporter.kinds]
