"""Requests for exports, checked once: a slice's sums, its segments, its views on their clocks, or a difference."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, assert_never
from urllib.parse import urlencode

from aggregate.selectors.exports.segments import select_difference_export, select_segmented_export
from aggregate.selectors.exports.slice_export import fingerprint_slice, select_slice_export
from aggregate.selectors.exports.source_texts import add_texts
from aggregate.selectors.exports.timelines import fingerprint_timeline, select_timeline_export
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.sides import SIDE_FIELDS, has_sides, query_of_sides, resolve_sides, unite
from aggregate.selectors.slice.slices import Slice, SliceError, SliceQuery
from profcore.formats.registry import Exporter, Kind, names_that_write
from profcore.formats.slice import SEGMENTS, Export

Axis = Literal["time", "sum"]
AXES: Final = ("time", "sum")
ENGINES: Final = ("none", "leaves")
SOURCES: Final = ("none", "content")
# The fields of an export beyond its slice's and its format, in the words of the read API.
EXPORT_FIELDS: Final = ("segment", "axis", "engine", "sources", *SIDE_FIELDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportQuery:
    """How a slice is to be exported, not checked yet; "" and empty mean not given."""

    segment: str = ""
    axis: str = ""
    engine: str = ""
    sources: str = ""
    base: SliceQuery = dataclasses.field(default_factory=dict)
    head: SliceQuery = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """A checked request for an export of a `kind`. `query` is the request in the read API's words.

    `base` and `head` are the two slices of a difference. With `is_pruned`, the size guard may leave out call paths;
    with `with_texts`, texts of sources are wanted.
    """

    kind: Kind
    slice_: Slice
    query: str
    segment: str = ""
    engine_leaves: bool = False
    is_pruned: bool = True
    with_texts: bool = False
    base: Slice | None = None
    head: Slice | None = None

    @property
    def slices(self) -> Sequence[Slice]:
        """The slices to read: one, or both sides of a difference."""
        return [side for side in (self.base, self.head) if side is not None] or [self.slice_]

    @property
    def source(self) -> str:
        """What the export is made from: `cells` or `raw` traces."""
        return self.slice_.tree_source

    @property
    def compared_slice(self) -> Slice:
        """The slice to show for the export on a page: for a difference, the slice of both sides together."""
        if self.base is None or self.head is None:
            return self.slice_
        return unite(self.base, self.head)


def resolve_export(slice_: Slice, exporter: Exporter, query: ExportQuery) -> ExportRequest:
    """Returns the checked request. Raises `SliceError` if fields contradict each other or the format.

    Views and traces are exported on their clocks if the format can write that, unless `axis=sum` asks for their sum.
    """
    _check_choices(query)
    if has_sides(query.base, query.head):
        request = _resolve_difference(slice_, query)
    elif query.segment:
        _refuse(query.axis == "time", "axis", "axis=time has no segments.")
        request = ExportRequest(
            kind="segments", slice_=slice_, query=_join(slice_, segment=query.segment), segment=query.segment
        )
    else:
        request = _resolve_axis(slice_, exporter, query)
    _refuse(bool(query.engine) and request.kind != "timeline", "engine", "engine is for views on their clocks.")
    wants_leaves = request.engine_leaves and not exporter.has_engine_leaves
    _refuse(wants_leaves, "engine", f"{exporter.title} has no leaves for what the engine did.")
    if request.kind not in exporter.kinds:
        field = {"segments": "segment", "timeline": "axis", "difference": "base_release", "slice": "format"}
        others = ", ".join(names_that_write(request.kind))
        detail = f"{exporter.title} has no way to write {_WORDS[request.kind]}; {others} have."
        raise SliceError(field[request.kind], detail)
    with_texts = query.sources == "content"
    _refuse(
        with_texts and not exporter.has_source_texts, "sources", f"{exporter.title} has no place for sources' texts."
    )
    full_query = "&".join(part for part in (request.query, "sources=content" if with_texts else "") if part)
    return replace(request, query=full_query, is_pruned=not exporter.needs_all, with_texts=with_texts)


_WORDS: Final = {
    "slice": "a slice",
    "segments": "segments",
    "timeline": "views on their clocks",
    "difference": "a difference",
}


def _check_choices(query: ExportQuery) -> None:
    for field, choices in (("segment", SEGMENTS), ("axis", AXES), ("engine", ENGINES), ("sources", SOURCES)):
        value = getattr(query, field)
        _refuse(value not in ("", *choices), field, f"{field} must be one of {', '.join(choices)}; not {value[:80]!r}.")


def _resolve_difference(slice_: Slice, query: ExportQuery) -> ExportRequest:
    _refuse(bool(query.segment), "segment", "A difference has no segments.")
    _refuse(query.axis == "time", "axis", "A difference has no clock.")
    base, head = resolve_sides(slice_, query.base, query.head)
    return ExportRequest(
        kind="difference", slice_=slice_, query=query_of_sides(slice_, base, head), base=base, head=head
    )


def _resolve_axis(slice_: Slice, exporter: Exporter, query: ExportQuery) -> ExportRequest:
    is_named = bool(slice_.views or slice_.traces)
    is_narrowed = bool(slice_.tags or slice_.func_over)
    if query.axis == "time":
        _refuse(not is_named, "axis", "axis=time takes view or trace: only they have a clock.")
        _refuse(is_narrowed, "axis", "axis=time takes neither tag nor func_over.")
    wants_clock = query.axis == "time" or (not query.axis and is_named and not is_narrowed)
    if wants_clock and (query.axis or "timeline" in exporter.kinds):
        has_leaves = query.engine == "leaves"
        query_string = _join(slice_, engine=query.engine if has_leaves else "")
        return ExportRequest(kind="timeline", slice_=slice_, query=query_string, engine_leaves=has_leaves)
    return ExportRequest(kind="slice", slice_=slice_, query=slice_.query())


def _join(slice_: Slice, **options: str) -> str:
    more = urlencode({name: word for name, word in options.items() if word})
    return "&".join(part for part in (slice_.query(), more) if part)


def _refuse(is_wrong: bool, field: str, detail: str) -> None:
    if is_wrong:
        raise SliceError(field, detail)


def fingerprint_export(request: ExportRequest) -> str:
    """Returns a digest of the data of an export. It changes with every trace folded into that data."""
    if request.kind == "timeline":
        return fingerprint_timeline(request.slice_)
    if request.base is not None and request.head is not None:
        return f"{fingerprint_slice(request.base)} {fingerprint_slice(request.head)}"
    return fingerprint_slice(request.slice_)


def select_export(
    request: ExportRequest, *, project: str, link: str | None = None, reading: Reading | None = None
) -> Export:
    """Returns the requested export, ready to be written. Raises `SliceError` if it is too large or has expired.

    The number of views on clocks is bounded whatever the reading, because viewers accept no more.
    """
    export = _select_export(request, project=project, link=link, reading=reading)
    return add_texts(request.slice_.project_id, export) if request.with_texts else export


def _select_export(request: ExportRequest, *, project: str, link: str | None, reading: Reading | None) -> Export:
    slice_, is_pruned = request.slice_, request.is_pruned
    match request.kind:
        case "slice":
            return select_slice_export(slice_, project=project, link=link, reading=reading, is_pruned=is_pruned)
        case "segments":
            return select_segmented_export(
                slice_, request.segment, project=project, link=link, reading=reading, is_pruned=is_pruned
            )
        case "timeline":
            return select_timeline_export(
                slice_, project=project, link=link, engine_leaves=request.engine_leaves, reading=reading
            )
        case "difference":
            assert request.base is not None
            assert request.head is not None
            return select_difference_export(
                request.base,
                request.head,
                query=request.query,
                project=project,
                link=link,
                reading=reading,
                is_pruned=is_pruned,
            )
        case _:
            assert_never(request.kind)
