"""Source maps (ECMA-426, version 3): reading, checking and looking up positions. Index maps are flattened."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

import msgspec
import numpy as np

from profcore.symbolicate.mappings import MAX_NUMBER, Ints, MappingsError, Segments, decode_mappings

XSSI_PREFIX: Final = b")]}'"
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
MAX_OFFSET: Final = 2**30  # bound of a section's offset: lines and columns of all sections together stay below 2**31
_PATH: Final = re.compile(r"^(?P<what>.*?)(?: - at `(?:key in )?(?P<path>\$.*)`)?$", re.DOTALL)


class MapError(Exception):
    """A source map cannot be used; has a JSON path such as `$.sections[3].map.mappings`, and a sentence."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail


class _Fields(msgspec.Struct, kw_only=True):
    version: int
    mappings: str | None = None
    sources: list[str | None] | None = None
    sourcesContent: list[str | None] | None = None  # noqa: N815  # the format's name
    sourceRoot: str | None = None  # noqa: N815
    names: list[str] | None = None


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
    names: list[str]
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
            int(columns.source_line[at]) + 1,
            int(columns.source_column[at]) + 1,
            self.names[name] if name >= 0 else None,
        )


def read_map(content: bytes) -> SourceMap:
    """Reads and checks a source map. Raises `MapError` and nothing else."""
    try:
        wire = _decoder.decode(strip_prefix(content))
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
        ids = _ids_decoder.decode(strip_prefix(content))
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
    if fields.version != 3:
        raise MapError(f"{path}.version", f"version {fields.version} is not 3.")
    if fields.mappings is None or fields.sources is None:
        missing = "mappings" if fields.mappings is None else "sources"
        raise MapError(f"{path}.{missing}", "it is missing; in a section, no sections are allowed.")
    names = fields.names or []
    try:
        segments = decode_mappings(fields.mappings, sources=len(fields.sources), names=len(names))
    except MappingsError as error:
        raise MapError(f"{path}.mappings", str(error)) from None
    contents = list((fields.sourcesContent or [])[: len(fields.sources)])
    contents += [None] * (len(fields.sources) - len(contents))
    root = fields.sourceRoot or ""
    if root and not root.endswith("/"):
        root += "/"
    sources = [None if source is None else root + source for source in fields.sources]
    return SourceMap(
        sources=sources, contents=contents, names=names, segments=segments, debug_id=None, _keys=_keys_of(segments)
    )


def _key(line: int, column: int) -> int:
    """Returns the key of a position from 1; -1 for one that no map can contain."""
    return (line - 1) << 32 | (column - 1) if 0 < line <= MAX_NUMBER and 0 < column <= MAX_NUMBER else -1


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
        columns = part.segments
        columns.column[columns.line == 0] += column
        columns.line += line
        columns.source[columns.source >= 0] += len(whole.sources)
        columns.name[columns.name >= 0] += len(whole.names)
        if number + 1 < len(parts):
            next_line, next_column = parts[number + 1][0]
            inside = _keys_of(columns) < (next_line << 32 | next_column)
            columns = Segments(*(values[inside] for values in columns.columns()))
        whole.sources += part.sources
        whole.contents += part.contents
        whole.names += part.names
        kept.append(columns.columns())
    if kept:
        whole.segments = Segments(*(np.concatenate(column) for column in zip(*kept, strict=True)))
        whole._keys = _keys_of(whole.segments)
    return whole
