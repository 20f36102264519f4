"""What export is asked for, checked once: a slice's sums, its segments, its views on their clocks, or a difference."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, assert_never
from urllib.parse import urlencode

from aggregate.selectors.export_texts import add_texts
from aggregate.selectors.exports import fingerprint_slice, select_slice_export
from aggregate.selectors.reading import Reading
from aggregate.selectors.segments import select_difference_export, select_segmented_export
from aggregate.selectors.slices import MAX_VALUES, Slice, SliceError
from aggregate.selectors.timelines import fingerprint_timeline, select_timeline_export
from profcore.formats.registry import Exporter, Kind, names_that_write
from profcore.formats.slice import SEGMENTS, Export

Axis = Literal["time", "sum"]
AXES: Final = ("time", "sum")
ENGINES: Final = ("none", "leaves")
SOURCES: Final = ("none", "content")
# The fields of an export beyond its slice's and its format, in the words of the read API.
EXPORT_FIELDS: Final = ("segment", "axis", "engine", "sources", "base_release", "head_release")


@dataclass(frozen=True, slots=True)
class ExportQuery:
    """How a slice is to be exported, as asked for; "" and empty mean not given."""

    segment: str = ""
    axis: str = ""
    engine: str = ""
    sources: str = ""
    base_release: Sequence[str] = ()
    head_release: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """A checked export: `kind` says which, `query` is it in the read API's words; `base` and `head` are two slices.

    `is_pruned` tells whether the size guard may leave out call paths, `with_texts` whether texts of sources are wanted.
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
        """The slices that are read: one, or both sides of a difference."""
        return [side for side in (self.base, self.head) if side is not None] or [self.slice_]

    @property
    def source(self) -> str:
        """What it is taken from: `cells` or `raw` traces."""
        return self.slice_.tree_source

    @property
    def shown_slice(self) -> Slice:
        """The slice that a page shows of it: of a difference, the releases of both sides."""
        releases = tuple(dict.fromkeys(release for side in self.slices for release in side.releases))
        return replace(self.slice_, releases=releases)


def resolve_export(slice_: Slice, exporter: Exporter, query: ExportQuery) -> ExportRequest:
    """Decides what is exported. Raises `SliceError` where fields contradict each other or the format.

    Views and traces are on their clocks where the format can write that and nothing else is asked for: `axis=sum`
    sums them up.
    """
    _check_words(query)
    if query.base_release or query.head_release:
        request = resolve_difference(slice_, query)
    elif query.segment:
        _refuse(query.axis == "time", "axis", "axis=time has no segments.")
        request = ExportRequest("segments", slice_, _join(slice_, segment=query.segment), segment=query.segment)
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
    asked = "&".join(part for part in (request.query, "sources=content" if with_texts else "") if part)
    return replace(request, query=asked, is_pruned=not exporter.needs_all, with_texts=with_texts)


_WORDS: Final = {
    "slice": "a slice",
    "segments": "segments",
    "timeline": "views on their clocks",
    "difference": "a difference",
}


def _check_words(query: ExportQuery) -> None:
    for field, words in (("segment", SEGMENTS), ("axis", AXES), ("engine", ENGINES), ("sources", SOURCES)):
        value = getattr(query, field)
        _refuse(value not in ("", *words), field, f"{field} must be one of {', '.join(words)}; not {value[:80]!r}.")


def resolve_difference(slice_: Slice, query: ExportQuery) -> ExportRequest:
    """Returns a slice's difference between releases: `base` and `head` are set. Raises `SliceError`."""
    for field in ("base_release", "head_release"):
        values = getattr(query, field)
        _refuse(not values, field, f"{field} must name a release, as the other side does.")
        many = f"{field} is given {len(values)} times; at most {MAX_VALUES} are taken."
        _refuse(len(values) > MAX_VALUES, field, many)
        _refuse(any("\0" in value for value in values), field, f"{field} must not contain a NUL character.")
    _refuse(bool(slice_.releases), "release", "A difference takes base_release and head_release, not release.")
    _refuse(bool(query.segment), "segment", "A difference has no segments.")
    _refuse(query.axis == "time", "axis", "A difference has no clock.")
    base, head = (
        replace(slice_, releases=tuple(dict.fromkeys(values))) for values in (query.base_release, query.head_release)
    )
    pairs = [("base_release", word) for word in base.releases] + [("head_release", word) for word in head.releases]
    asked = "&".join(part for part in (urlencode(pairs, safe="/:"), slice_.query()) if part)
    return ExportRequest("difference", slice_, asked, base=base, head=head)


def _resolve_axis(slice_: Slice, exporter: Exporter, query: ExportQuery) -> ExportRequest:
    is_named = bool(slice_.views or slice_.traces)
    is_narrowed = bool(slice_.tags or slice_.func_over)
    if query.axis == "time":
        _refuse(not is_named, "axis", "axis=time takes view or trace: only they have a clock.")
        _refuse(is_narrowed, "axis", "axis=time takes neither tag nor func_over.")
    wants_clock = query.axis == "time" or (not query.axis and is_named and not is_narrowed)
    if wants_clock and (query.axis or "timeline" in exporter.kinds):
        has_leaves = query.engine == "leaves"
        asked = _join(slice_, engine=query.engine if has_leaves else "")
        return ExportRequest("timeline", slice_, asked, engine_leaves=has_leaves)
    return ExportRequest("slice", slice_, slice_.query())


def _join(slice_: Slice, **words: str) -> str:
    more = urlencode({name: word for name, word in words.items() if word})
    return "&".join(part for part in (slice_.query(), more) if part)


def _refuse(is_wrong: bool, field: str, detail: str) -> None:
    if is_wrong:
        raise SliceError(field, detail)


def fingerprint_export(request: ExportRequest) -> str:
    """Returns a digest of what an export is made of. It changes with every trace folded into it."""
    if request.kind == "timeline":
        return fingerprint_timeline(request.slice_)
    if request.base is not None and request.head is not None:
        return f"{fingerprint_slice(request.base)} {fingerprint_slice(request.head)}"
    return fingerprint_slice(request.slice_)


def select_export(
    request: ExportRequest, *, project: str, link: str | None = None, reading: Reading | None = None
) -> Export:
    """Returns what is asked for, ready to be written. Raises `SliceError` where it is too much or gone.

    Views on their clocks are bounded whatever the reading: a viewer takes no more.
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
            return select_timeline_export(slice_, project=project, link=link, engine_leaves=request.engine_leaves)
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
