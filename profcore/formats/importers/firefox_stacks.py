"""The stacks of a Firefox profile, whichever version laid its tables out.

Before version 56 each thread has its own strings, before 60 its own tables; before 58 a func names its file itself;
since 66 a stack names its caller by its distance.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from profcore.errors import Reason, TraceError
from profcore.formats.importers.building import TraceBuilder, dangling, name_of_label

# The categories whose work the API would have told by a marker.
MARKER_OF_CATEGORY: Final = {
    "GC / CC": "gc",
    "Style": "style",
    "Layout": "layout",
    "Graphics": "paint",
    "Paint": "paint",
}
# Of our own exports: busy, and no stack to show; and the cost of measuring, with its pseudo func.
HIDDEN: Final = "Hidden"
RECORDING: Final = ("Recording", "(profiler)")
IDLE: Final = "Idle"
T = TypeVar("T")


class StackTable(msgspec.Struct, gc=False):
    """Call paths; a caller comes before its callees."""

    frame: list[int] = []
    prefix: list[int | None] | None = None
    prefixOffset: list[int] | None = None


class FrameTable(msgspec.Struct, gc=False):
    """What stands on stacks. Its lines say what was running, and are not read."""

    func: list[int] = []
    category: list[int | None] = []


class FuncTable(msgspec.Struct, gc=False):
    """Functions by their definition, 1-based."""

    name: list[int] = []
    isJS: list[bool] = []
    relevantForJS: list[bool] = []
    source: list[int | None] | None = None
    fileName: list[int | None] | None = None
    lineNumber: list[int | None] = []
    columnNumber: list[int | None] = []


class Sources(msgspec.Struct, gc=False):
    """Script files."""

    filename: list[int] = []


class Tables(msgspec.Struct, gc=False):
    """The tables that all threads share, or that one has for itself."""

    stringArray: list[str] | None = None
    stackTable: StackTable | None = None
    frameTable: FrameTable | None = None
    funcTable: FuncTable | None = None
    sources: Sources | None = None


class Place(NamedTuple):
    """Where a sample goes: our stack, a marker, and whether it is known to be work without a stack."""

    stack: int | None
    marker: str | None
    is_hidden: bool


class _Row(NamedTuple):
    """A stack of theirs: our stack, and its category, which it has from its caller where it has none itself."""

    stack: int | None
    category: str | None
    depth: int
    is_hidden: bool = False


NO_PLACE: Final = Place(None, None, False)


class StackReader:
    """Turns the stacks of one thread into ours, each once and only those that are asked for."""

    def __init__(
        self, thread: Tables, shared: Tables, categories: Sequence[str], builder: TraceBuilder, path: str
    ) -> None:
        self._stacks = thread.stackTable or shared.stackTable or StackTable()
        self._frames = thread.frameTable or shared.frameTable or FrameTable()
        self._funcs = thread.funcTable or shared.funcTable or FuncTable()
        self._sources = shared.sources or Sources()
        self._strings = thread.stringArray if thread.stringArray is not None else shared.stringArray or []
        self._categories = categories
        self._builder = builder
        self._path = path
        self._rows: dict[int, _Row] = {}
        self.has_native = False

    def place(self, stack: int | None, path: str) -> Place:
        """Returns where a sample with a stack of theirs goes."""
        if stack is None:
            return NO_PLACE
        try:
            row = self._row(stack)
        except (IndexError, _Negative):
            raise dangling(path, "stacks, or its stack leads nowhere") from None
        marker = MARKER_OF_CATEGORY.get(row.category or "")
        if row.is_hidden:
            return Place(None, marker, True)
        if row.stack is not None:
            return Place(row.stack, marker, False)
        return Place(None, marker or (None if row.category == IDLE else "other"), False)

    def _row(self, stack: int) -> _Row:
        """Returns a stack's row, made with its callers' where they are new, from the root on."""
        pending: list[int] = []
        above: int | None = stack
        while above is not None and above not in self._rows:
            pending.append(above)
            above = self._caller(above)
        row = _Row(None, None, 0) if above is None else self._rows[above]
        for new in reversed(pending):
            row = self._rows[new] = self._extend(row, new)
        return row

    def _caller(self, stack: int) -> int | None:
        table = self._stacks
        if table.prefixOffset is not None:
            offset = _at(table.prefixOffset, stack)
            caller = stack - offset if offset else None
        else:
            caller = _at(table.prefix or [], stack)
        if caller is not None and not 0 <= caller < stack:
            raise TraceError(Reason.PARENT_ORDER, f"{self._path}.stackTable", "A stack's caller comes before it.")
        return caller

    def _extend(self, above: _Row, stack: int) -> _Row:
        frame = _at(self._stacks.frame, stack)
        func = _at(self._frames.func, frame)
        number = _at(self._frames.category, frame) if self._frames.category else None
        category = above.category if number is None else _at(self._categories, number)
        if above.depth >= self._builder.limits.envelope.depth:
            limit = self._builder.limits.envelope.depth
            raise TraceError(Reason.TOO_DEEP, f"{self._path}.stackTable", f"A stack is deeper than {limit} frames.")
        is_js, is_label = _at(self._funcs.isJS, func), _at(self._funcs.relevantForJS, func)
        if not is_js and (category, _at(self._strings, _at(self._funcs.name, func))) == RECORDING:
            return _Row(self._builder.stack(None, self._builder.frame("Profiler")), category, 1)
        if not is_js and (not is_label or category in MARKER_OF_CATEGORY):
            is_hidden = above.is_hidden or category == HIDDEN
            self.has_native = self.has_native or not is_hidden
            return _Row(above.stack, category, above.depth + 1, is_hidden)
        return _Row(self._builder.stack(above.stack, self._frame(func)), category, above.depth + 1)

    def _frame(self, func: int) -> int:
        funcs = self._funcs
        name = _at(self._strings, _at(funcs.name, func))
        uri = self._file(func)
        line = _at(funcs.lineNumber, func) if funcs.lineNumber else None
        column = _at(funcs.columnNumber, func) if funcs.columnNumber else None
        return self._builder.frame(name_of_label(name, line, column), uri, line, column)

    def _file(self, func: int) -> str | None:
        if self._funcs.source is not None:
            source = _at(self._funcs.source, func)
            return None if source is None else _at(self._strings, _at(self._sources.filename, source))
        name = _at(self._funcs.fileName, func) if self._funcs.fileName else None
        return None if name is None else _at(self._strings, name)


class _Negative(Exception):
    """An index below zero, which Python would count from the end."""


def _at(column: Sequence[T], index: int) -> T:
    if index < 0:
        raise _Negative
    return column[index]
