"""Source maps (ECMA-426, version 3): reading, checking and looking up positions. Index maps are flattened.

One odd value does not spoil the rest: what is no text in a list of texts counts as missing, and half a surrogate pair
becomes U+FFFD.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

import msgspec
import numpy as np

from profcore.surrogates import replace_halves
from profcore.symbolicate.mappings import MAX_NUMBER, Ints, MappingsError, Segments, decode_mappings

T = TypeVar("T")

XSSI_PREFIX: Final = b")]}'"
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
MAX_OFFSET: Final = 2**30  # bound of a section's offset
_PATH: Final = re.compile(r"^(?P<what>.*?)(?: - at `(?:key in )?(?P<path>\$.*)`)?$", re.DOTALL)
# Half a surrogate pair, in bytes that are not quite UTF-8.
HALF_BYTES: Final = re.compile(b"\xed[\xa0-\xbf][\x80-\xbf]")
REPLACEMENT: Final = "\ufffd".encode()


class MapError(Exception):
    """A source map cannot be used; has a JSON path such as `$.sections[3].map.mappings`, and a sentence."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail


class _Fields(msgspec.Struct, kw_only=True):
    version: int | str
    mappings: str | None = None
    sources: list[Any] | None = None  # Any: generators write other things than texts here
    sourcesContent: Any = None  # noqa: N815  # the format's name
    sourceRoot: Any = None  # noqa: N815
    names: Any = None


class _Offset(msgspec.Struct):
    line: int
    column: int


class _Section(msgspec.Struct):
    offset: _Offset
    map: _Fields | None = None
    url: str | None = None


class _Wire(_Fields):
    sections: list[_Section] | None = None
    debugId: str | None = None  # noqa: N815
    debug_id: str | None = None


class _DebugIds(msgspec.Struct):
    debugId: str | None = None  # noqa: N815
    debug_id: str | None = None


_decoder: Final = msgspec.json.Decoder(_Wire)
_ids_decoder: Final = msgspec.json.Decoder(_DebugIds)


class MapPlace(NamedTuple):
    """A position in an original source: the source's index, line and column from 1, the map's name there or None."""

    source: int
    line: int
    column: int
    name: str | None


@dataclass(slots=True, kw_only=True)
class SourceMap:
    """A flattened source map. `sources` are the map's names, after its root."""

    sources: list[str | None]
    contents: list[str | None]
    names: list[str | None]
    segments: Segments
    debug_id: UUID | None
    _keys: Ints

    def find(self, positions: Sequence[tuple[int, int]]) -> list[MapPlace | None]:
        """Returns the original place of each generated position (line and column from 1), or None.

        By the format, it is the last segment of the line that begins at or before the position.
        """
        if not len(self._keys):
            return [None] * len(positions)
        wanted = np.array([_key(line, column) for line, column in positions], dtype=np.int64)
        indexes = np.searchsorted(self._keys, wanted, side="right") - 1
        return [
            self._place(int(at)) if at >= 0 and self._keys[at] >> 32 == key >> 32 else None
            for at, key in zip(indexes, wanted, strict=True)
        ]

    def find_exactly(self, line: int, column: int) -> MapPlace | None:
        """Returns the original place of the segment that begins exactly at a generated position, or None."""
        return self.find([(line, column)])[0] if self.segment_column(line, column) == column else None

    def segment_column(self, line: int, column: int) -> int | None:
        """Returns the column (from 1) at which the segment of a position begins, or None."""
        key = _key(line, column)
        at = int(np.searchsorted(self._keys, key, side="right")) - 1
        return int(self.segments.column[at]) + 1 if at >= 0 and self._keys[at] >> 32 == key >> 32 else None

    def _place(self, at: int) -> MapPlace | None:
        columns = self.segments
        source = int(columns.source[at])
        if source < 0 or self.sources[source] is None:
            return None
        name = int(columns.name[at])
        return MapPlace(
            source,
            min(int(columns.source_line[at]) + 1, MAX_NUMBER),
            min(int(columns.source_column[at]) + 1, MAX_NUMBER),
            self.names[name] if name >= 0 else None,
        )


def read_map(content: bytes) -> SourceMap:
    """Reads and checks a source map. Raises `MapError` and nothing else."""
    try:
        wire = _decode(_decoder, content)
    except RecursionError:
        raise MapError("$", "it is nested too deeply.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _explain(error) from None
    debug_id = read_debug_id(wire.debugId or wire.debug_id)
    parts = [((0, 0), _read_fields(wire, "$"))] if wire.sections is None else _read_sections(wire.sections)
    return _lay_out(parts, debug_id)


def read_map_debug_id(content: bytes) -> UUID | None:
    """Returns the debug id of a map without reading the rest; None if it has none or is not a map."""
    try:
        ids = _decode(_ids_decoder, content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return read_debug_id(ids.debugId or ids.debug_id)


def read_debug_id(text: str | None) -> UUID | None:
    """Returns a debug id; None if it is not a UUID, since it then pairs nothing."""
    try:
        return UUID(text) if text else None
    except ValueError:
        return None


def strip_prefix(content: bytes) -> bytes:
    """Removes a byte order mark, and the line that keeps a map from being run as a script."""
    content = content.removeprefix(BYTE_ORDER_MARK)
    return content[content.find(b"\n") + 1 :] if content.startswith(XSSI_PREFIX) else content


def _decode(decoder: msgspec.json.Decoder[T], content: bytes) -> T:
    """Returns a decoded map. Halves of surrogate pairs are repaired only if there are any: that is slow."""
    json = strip_prefix(content)
    try:
        return decoder.decode(json)
    except (msgspec.DecodeError, UnicodeDecodeError):
        repaired = HALF_BYTES.sub(REPLACEMENT, replace_halves(json, most=len(json)))
        if repaired == json:
            raise
    return decoder.decode(repaired)


def _explain(error: Exception) -> MapError:
    match = _PATH.match(str(error))
    assert match is not None  # the pattern matches any text
    return MapError(match["path"] or "$", match["what"].rstrip(".") + ".")


def _read_sections(sections: list[_Section]) -> list[tuple[tuple[int, int], SourceMap]]:
    parts = []
    before = (-1, -1)
    for index, section in enumerate(sections):
        path = f"$.sections[{index}]"
        place = (section.offset.line, section.offset.column)
        if not all(0 <= number <= MAX_OFFSET for number in place):
            raise MapError(f"{path}.offset", f"{place} is outside of a script.")
        if place <= before:
            raise MapError(f"{path}.offset", "sections must come in the order of their offsets.")
        if section.map is None:
            raise MapError(f"{path}.map", "a section must contain its map; maps at a URL are not fetched.")
        parts.append((place, _read_fields(section.map, f"{path}.map")))
        before = place
    return parts


def _read_fields(fields: _Fields, path: str) -> SourceMap:
    if fields.version not in (3, "3"):
        raise MapError(f"{path}.version", f"version {str(fields.version)[:20]} is not 3.")
    if fields.mappings is None or fields.sources is None:
        missing = "mappings" if fields.mappings is None else "sources"
        raise MapError(f"{path}.{missing}", "it is missing; in a section, no sections are allowed.")
    names = _read_texts(fields.names)
    try:
        segments = decode_mappings(fields.mappings, sources=len(fields.sources), names=len(names))
    except MappingsError as error:
        raise MapError(f"{path}.mappings", str(error)) from None
    contents = _read_texts(fields.sourcesContent)[: len(fields.sources)]
    contents += [None] * (len(fields.sources) - len(contents))
    root = fields.sourceRoot if isinstance(fields.sourceRoot, str) else ""
    if root and not root.endswith("/"):
        root += "/"
    sources = [None if source is None else root + source for source in _read_texts(fields.sources)]
    return SourceMap(
        sources=sources, contents=contents, names=names, segments=segments, debug_id=None, _keys=_keys_of(segments)
    )


def _read_texts(value: object) -> list[str | None]:
    """Returns a list of texts; what is no text is None, and what is no list is empty."""
    return [item if isinstance(item, str) else None for item in value] if isinstance(value, list) else []


def _key(line: int, column: int) -> int:
    """Returns the key of a position from 1; -1 for one that no map can contain."""
    return (line - 1) << 32 | (column - 1) if 0 <= line - 1 <= MAX_NUMBER and 0 <= column - 1 <= MAX_NUMBER else -1


def _keys_of(segments: Segments) -> Ints:
    return segments.line.astype(np.int64) << 32 | segments.column


def _lay_out(parts: list[tuple[tuple[int, int], SourceMap]], debug_id: UUID | None) -> SourceMap:
    """Joins the maps of sections into one; each ends where the next begins."""
    whole = SourceMap(
        sources=[],
        contents=[],
        names=[],
        segments=Segments(*(np.empty(0, dtype=np.int32),) * 6),
        debug_id=debug_id,
        _keys=np.empty(0, dtype=np.int64),
    )
    kept = []
    for number, ((line, column), part) in enumerate(parts):
        columns = _move(part.segments, line, column) if line or column else part.segments
        columns.source[columns.source >= 0] += len(whole.sources)
        columns.name[columns.name >= 0] += len(whole.names)
        if number + 1 < len(parts):
            next_line, next_column = parts[number + 1][0]
            columns = columns.pick(_keys_of(columns) < (next_line << 32 | next_column))
        whole.sources += part.sources
        whole.contents += part.contents
        whole.names += part.names
        kept.append(columns.columns())
    if kept:
        whole.segments = Segments(*(np.concatenate(column) for column in zip(*kept, strict=True)))
        whole._keys = _keys_of(whole.segments)
    return whole


def _move(columns: Segments, line: int, column: int) -> Segments:
    """Returns the segments of a section, moved to its place; those that no script can have are dropped."""
    room = np.where(columns.line == 0, MAX_NUMBER - column, MAX_NUMBER)
    moved = columns.pick((columns.column <= room) & (columns.line <= MAX_NUMBER - line))
    moved.column[moved.line == 0] += column
    moved.line += line
    return moved
