"""The shared tables of a Firefox profile, filled row by row; equal rows are interned once."""

import re
from typing import Final, NamedTuple

from profcore.formats.firefox.categories import CategoryChoice
from profcore.formats.firefox.shapes import (
    RESOURCE_UNKNOWN,
    RESOURCE_URL,
    FrameTable,
    FuncTable,
    ResourceTable,
    SourceLocationTable,
    Sources,
)
from profcore.formats.slice import ExportOriginal, SourceTexts
from profcore.formats.streaming import TextColumn

UNWRITABLE: Final = re.compile("[\0\ud800-\udfff]")
SCHEME: Final = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
HOST: Final = re.compile(r"[^/?#\\]+")
UNKNOWN_ORIGIN: Final = "(unknown origin)"


def safe_text(text: str) -> str:
    """Returns the text with U+FFFD for NUL, which cannot be stored, and for lone surrogates, which are not Unicode.

    Everything else stays: JSON escapes control characters, and a reader that renders names as HTML has a bug.
    """
    return text if text.isascii() and "\0" not in text else UNWRITABLE.sub("\ufffd", text)


def split_origin(uri: str) -> tuple[str, str | None]:
    """Returns the origin of a stored URI and its host, if it has one.

    A `blob:` script belongs to the origin that created it, and a URI without an authority (`data:`, an extension) to
    its scheme. A text that is not a URL, which `sourceURL` may claim, belongs to `UNKNOWN_ORIGIN`. Never raises.
    """
    uri = uri.removeprefix("blob:")
    match = SCHEME.match(uri)
    if match is None:
        return UNKNOWN_ORIGIN, None
    scheme, rest = match.group(), uri[match.end() :]
    if not rest.startswith("//"):
        return scheme, None
    host = HOST.match(rest[2:])
    return f"{scheme}//{host.group() if host else ''}", host.group() if host else None


class StringTable:
    """The profile's strings, each once, in the order in which they were added."""

    __slots__ = ("_index", "array")

    def __init__(self) -> None:
        self.array: list[str] = []
        self._index: dict[str, int] = {}

    def intern(self, text: str) -> int:
        """Returns the index of a text that `safe_text` returned."""
        index = self._index.setdefault(text, len(self.array))
        if index == len(self.array):
            self.array.append(text)
        return index


class FuncRow(NamedTuple):
    """The key of a func: two equal rows would be two call nodes of one function in every view."""

    name: str
    is_js: bool
    relevant_for_js: bool
    uri: str | None
    line: int | None
    column: int | None


class SharedTables:
    """All tables except the stacks. A func has one frame, so that its call nodes keep one category.

    In a difference, it has one for each category of its paths.
    """

    __slots__ = (
        "_contents",
        "_resources",
        "_sources",
        "frames",
        "funcs",
        "locations",
        "resources",
        "sources",
        "strings",
    )

    def __init__(self, contents: SourceTexts | None) -> None:
        self._contents = contents
        self.strings = StringTable()
        self.frames = FrameTable(
            length=0,
            address=[],
            inlineDepth=[],
            category=[],
            subcategory=[],
            func=[],
            nativeSymbol=[],
            innerWindowID=[],
            line=[],
            column=[],
            originalLocation=[],
        )
        self.funcs = FuncTable(
            length=0,
            name=[],
            isJS=[],
            relevantForJS=[],
            resource=[],
            source=[],
            lineNumber=[],
            columnNumber=[],
            originalLocation=[],
        )
        self.resources = ResourceTable(length=0, lib=[], name=[], host=[], type=[])
        self.sources = Sources(length=0, id=[], filename=[], startLine=[], startColumn=[], sourceMapURL=[], content=[])
        self.locations = SourceLocationTable(0, [], [], [])
        self._resources: dict[str, int] = {}
        self._sources: dict[str, int] = {}

    def add_func(self, row: FuncRow, choice: CategoryChoice, original: ExportOriginal | None) -> int:
        """Adds a func and its frame and returns their common index. The caller adds each distinct row once."""
        table = self.funcs
        table.name.append(self.strings.intern(row.name))
        table.isJS.append(row.is_js)
        table.relevantForJS.append(row.relevant_for_js)
        table.resource.append(-1 if row.uri is None else self._resource(row.uri))
        table.source.append(None if row.uri is None else self._source(row.uri))
        # Positions are 1-based; a 0, which the wire allows, means unknown.
        table.lineNumber.append(row.line or None)
        table.columnNumber.append(row.column or None)
        table.originalLocation.append(None if original is None else self._location(original))
        table.length += 1
        return self.add_frame(table.length - 1, choice)

    def write_sources(self) -> Sources:
        """Returns the table of sources, whose texts are read when it is written to a file."""
        if self._contents is None:
            self.sources.content = [None] * self.sources.length
        else:
            texts = self._contents.read(list(self._sources))
            self.sources.content = TextColumn(None if parts is None else map(safe_text, parts) for parts in texts)
        return self.sources

    def add_frame(self, func: int, choice: CategoryChoice) -> int:
        """Adds a frame of a func and returns its index."""
        frames = self.frames
        frames.func.append(func)
        frames.category.append(choice.category)
        frames.subcategory.append(choice.subcategory)
        frames.address.append(-1)
        frames.inlineDepth.append(0)
        frames.nativeSymbol.append(None)
        frames.innerWindowID.append(0)
        # The API never tells which line was running; the viewer falls back to the func's own position.
        frames.line.append(None)
        frames.column.append(None)
        frames.originalLocation.append(None)
        frames.length += 1
        return frames.length - 1

    def _resource(self, uri: str) -> int:
        origin, host = split_origin(uri)
        resource = self._resources.get(origin)
        if resource is None:
            table = self.resources
            resource = self._resources[origin] = table.length
            table.lib.append(None)
            table.name.append(self.strings.intern(origin))
            table.host.append(None if host is None else self.strings.intern(host))
            table.type.append(RESOURCE_UNKNOWN if origin == UNKNOWN_ORIGIN else RESOURCE_URL)
            table.length += 1
        return resource

    def _source(self, filename: str) -> int:
        source = self._sources.get(filename)
        if source is None:
            table = self.sources
            source = self._sources[filename] = table.length
            table.id.append(None)
            table.filename.append(self.strings.intern(filename))
            table.startLine.append(1)
            table.startColumn.append(1)
            table.sourceMapURL.append(None)
            table.length += 1
        return source

    def _location(self, original: ExportOriginal) -> int:
        table = self.locations
        table.source.append(self._source(safe_text(original.source)))
        table.line.append(original.line)
        table.column.append(original.column)
        table.length += 1
        return table.length - 1
