"""The stacks of a Firefox profile, from any version of its tables.

Before version 56 each thread has its own strings, and before 60 its own tables. Before 58 a func names its file itself.
Since 66 a stack names its caller by its distance. Since 71 flags tell which columns of a frame have a value, and since
75 those of a func.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from profcore.errors import Reason, TraceError
from profcore.formats.importers.building import TraceBuilder, dangling, name_of_label

# The categories of work for which the API has a marker.
MARKER_OF_CATEGORY: Final = {
    "GC / CC": "gc",
    "Style": "style",
    "Layout": "layout",
    "Graphics": "paint",
    "Paint": "paint",
}
# In our own exports: busy without a visible stack; and the cost of measuring, with its pseudo func.
HIDDEN: Final = "Hidden"
ENGINE: Final = ("Engine", "(engine)")
RECORDING: Final = ("Recording", "(profiler)")
IDLE: Final = "Idle"
# Bits of `frameTable.flags` and of `funcTable.flags`.
FRAME_CATEGORY: Final = 4
FUNC_IS_JS: Final = 1
FUNC_RELEVANT_FOR_JS: Final = 2
FUNC_SOURCE: Final = 8
FUNC_LINE: Final = 16
FUNC_COLUMN: Final = 32
T = TypeVar("T")


class StackTable(msgspec.Struct, gc=False):
    """Call paths; a caller comes before its callees."""

    frame: list[int] = []
    prefix: list[int | None] | None = None
    prefixOffset: list[int] | None = None


class FrameTable(msgspec.Struct, gc=False):
    """The frames of stacks. Their lines tell where code was running; they are not read."""

    func: list[int] = []
    category: list[int | None] = []
    flags: list[int] | None = None


class FuncTable(msgspec.Struct, gc=False, kw_only=True):
    """Functions with the place of their definition, 1-based."""

    name: list[int] = []
    isJS: list[bool] = []
    relevantForJS: list[bool] = []
    source: list[int | None] | None = None
    fileName: list[int | None] | None = None
    lineNumber: list[int | None] = []
    columnNumber: list[int | None] = []
    flags: list[int] | None = None


class Sources(msgspec.Struct, gc=False):
    """Script files."""

    filename: list[int] = []


class Tables(msgspec.Struct, gc=False, kw_only=True):
    """The tables that all threads share, or those of one thread."""

    stringArray: list[str] | None = None
    stackTable: StackTable | None = None
    frameTable: FrameTable | None = None
    funcTable: FuncTable | None = None
    sources: Sources | None = None


class FramePlace(NamedTuple):
    """The target of a sample: our stack, a marker, and whether it is known to be hidden work or the engine's."""

    stack: int | None
    marker: str | None
    is_hidden: bool
    is_engine: bool = False


class _Row(NamedTuple):
    """A Firefox stack: our stack, and its category; without its own category it has that of its caller."""

    stack: int | None
    category: str | None
    depth: int
    is_hidden: bool = False
    is_engine: bool = False


NO_PLACE: Final = FramePlace(None, None, False)


class StackReader:
    """The stacks of one thread, converted into ours on demand and only once."""

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

    def place(self, stack: int | None, path: str) -> FramePlace:
        """Returns the target of a sample with a Firefox stack."""
        if stack is None:
            return NO_PLACE
        try:
            row = self._row(stack)
        except (IndexError, _Negative):
            raise dangling(path, "stacks, or its stack names a missing row") from None
        marker = MARKER_OF_CATEGORY.get(row.category or "")
        if row.is_hidden or row.is_engine:
            return FramePlace(None, marker, row.is_hidden, row.is_engine)
        if row.stack is not None:
            return FramePlace(row.stack, marker, False)
        return FramePlace(None, marker or (None if row.category == IDLE else "other"), False)

    def _row(self, stack: int) -> _Row:
        """Returns a stack's row; it first creates missing rows of its callers, from the root on."""
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
            raise TraceError(Reason.PARENT_ORDER, f"{self._path}.stackTable", "A stack's caller must come before it.")
        return caller

    def _extend(self, above: _Row, stack: int) -> _Row:
        frame = _at(self._stacks.frame, stack)
        func = _at(self._frames.func, frame)
        number = self._category(frame)
        category = above.category if number is None else _at(self._categories, number)
        if above.depth >= self._builder.limits.envelope.depth:
            limit = self._builder.limits.envelope.depth
            raise TraceError(Reason.TOO_DEEP, f"{self._path}.stackTable", f"A stack is deeper than {limit} frames.")
        is_js, is_label = self._kind(func)
        pseudo = None if is_js else (category, _at(self._strings, _at(self._funcs.name, func)))
        if pseudo == RECORDING:
            return _Row(self._builder.stack(None, self._builder.frame("Profiler")), category, 1)
        if not is_js and (not is_label or category in MARKER_OF_CATEGORY):
            is_hidden = above.is_hidden or category == HIDDEN
            is_engine = above.is_engine or pseudo == ENGINE
            self.has_native = self.has_native or not (is_hidden or is_engine)
            return _Row(above.stack, category, above.depth + 1, is_hidden, is_engine)
        return _Row(self._builder.stack(above.stack, self._frame(func)), category, above.depth + 1)

    def _category(self, frame: int) -> int | None:
        """Returns the number of a frame's own category."""
        table = self._frames
        if not table.category or (table.flags is not None and not _at(table.flags, frame) & FRAME_CATEGORY):
            return None
        return _at(table.category, frame)

    def _kind(self, func: int) -> tuple[bool, bool]:
        """Returns whether a func is JS, and whether it is a label that belongs to JS."""
        funcs = self._funcs
        if funcs.flags is None:
            return _at(funcs.isJS, func), _at(funcs.relevantForJS, func)
        flags = _at(funcs.flags, func)
        return bool(flags & FUNC_IS_JS), bool(flags & FUNC_RELEVANT_FOR_JS)

    def _value(self, column: Sequence[int | None] | None, func: int, flag: int) -> int | None:
        """Returns what a column of the funcs has for one, or None."""
        flags = self._funcs.flags
        if not column or (flags is not None and not _at(flags, func) & flag):
            return None
        return _at(column, func)

    def _frame(self, func: int) -> int:
        funcs = self._funcs
        name = _at(self._strings, _at(funcs.name, func))
        uri = self._file(func)
        line = self._value(funcs.lineNumber, func, FUNC_LINE)
        column = self._value(funcs.columnNumber, func, FUNC_COLUMN)
        return self._builder.frame(name_of_label(name, line, column), uri, line, column)

    def _file(self, func: int) -> str | None:
        if self._funcs.source is not None:
            source = self._value(self._funcs.source, func, FUNC_SOURCE)
            return None if source is None else _at(self._strings, _at(self._sources.filename, source))
        name = _at(self._funcs.fileName, func) if self._funcs.fileName else None
        return None if name is None else _at(self._strings, name)


class _Negative(Exception):
    """A negative index, which Python would count from the end."""


def _at(column: Sequence[T], index: int) -> T:
    if index < 0:
        raise _Negative
    return column[index]
