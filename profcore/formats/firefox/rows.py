"""The funcs and stacks of a profile, from any number of exports: equal ones share one row.

The viewer distinguishes call nodes by func row, and all threads share the tables. A func of two segments or two views
must be one row. Else it is two functions in every search, transform and comparison.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from profcore.formats.firefox.categories import (
    ENGINE_CHOICE,
    ENGINE_CHOICES,
    HIDDEN_CHOICE,
    OTHER_CHOICE,
    RECORDING_CHOICE,
    CategoryChoice,
    choose_category,
    is_built_in,
)
from profcore.formats.firefox.shapes import NativeSymbols, Shared, StackTable
from profcore.formats.firefox.tables import FuncRow, SharedTables, safe_text
from profcore.formats.pruning import PRUNED
from profcore.formats.slice import ExportFunc, ExportOriginal, SourceTexts
from profcore.sums.calltree import CallTree

ANONYMOUS: Final = "(anonymous)"


def _pseudo(name: str) -> FuncRow:
    """Returns a row that is neither JS nor a JS label. So it differs from a page's own func with the same name."""
    return FuncRow(name, is_js=False, relevant_for_js=False, uri=None, line=None, column=None)


HIDDEN_ROW: Final = _pseudo("(hidden)")
ENGINE_ROW: Final = _pseudo("(engine)")
PROFILER_ROW: Final = _pseudo("(profiler)")
PRUNED_ROW: Final = _pseudo(PRUNED.label)
ENGINE_ROWS: Final = {
    "gc": _pseudo("(garbage collection)"),
    "style": _pseudo("(style)"),
    "layout": _pseudo("(layout)"),
    "paint": _pseudo("(paint)"),
}


@dataclass(frozen=True, slots=True)
class _Func:
    row: FuncRow
    choice: CategoryChoice
    original: ExportOriginal | None


class FuncTableRows:
    """The distinct funcs of some exports, by index; the pseudo funcs are always among them."""

    def __init__(self) -> None:
        self._funcs: list[_Func] = []
        self._index: dict[FuncRow, int] = {}
        self.hidden = self._add(_Func(HIDDEN_ROW, HIDDEN_CHOICE, None))
        self.profiler = self._add(_Func(PROFILER_ROW, RECORDING_CHOICE, None))
        self._add(_Func(PRUNED_ROW, OTHER_CHOICE, None))
        self.engine = self._add(_Func(ENGINE_ROW, ENGINE_CHOICE, None))
        self.leaves = {
            marker: self._add(_Func(row, ENGINE_CHOICES[marker], None)) for marker, row in ENGINE_ROWS.items()
        }

    def add(self, funcs: Sequence[ExportFunc]) -> list[int]:
        """Adds an export's funcs, and returns the index of each."""
        return [self._add(_Func(_row(func), choose_category(func), func.original)) for func in funcs]

    def __getitem__(self, index: int) -> _Func:
        return self._funcs[index]

    def rank(self) -> list[int]:
        """Returns the rank of each func when sorted by what people read: name, then place of definition."""
        order = sorted(range(len(self._funcs)), key=lambda index: _sort_key(self._funcs[index].row))
        rank = [0] * len(order)
        for place, index in enumerate(order):
            rank[index] = place
        return rank

    def _add(self, func: _Func) -> int:
        row = self._index.setdefault(func.row, len(self._funcs))
        if row == len(self._funcs):
            self._funcs.append(func)
        return row


class ProfileTables:
    """All shared tables of one profile. Stacks are interned by path; a func gets its row with its first stack."""

    def __init__(self, funcs: FuncTableRows, contents: SourceTexts | None) -> None:
        self._funcs = funcs
        self._tables = SharedTables(contents)
        self._frames: dict[int, int] = {}
        self._frame: list[int] = []
        self._offset: list[int] = []
        self._stacks: dict[tuple[int, int], int] = {}

    def stack(self, prefix: int, func: int) -> int:
        """Returns the row of `func` (an index of `FuncTableRows`) called from stack `prefix`, -1 for a root."""
        key = (prefix, func)
        row = self._stacks.get(key)
        if row is None:
            row = self._stacks[key] = len(self._frame)
            self._frame.append(self._frame_of(func))
            self._offset.append(0 if prefix < 0 else row - prefix)
        return row

    def stacks(self, prefix: Sequence[int], func: Sequence[int]) -> list[int]:
        """Returns the rows of a tree's nodes, callers before callees. It is fast, since large trees wait for it."""
        rows: list[int] = []
        stacks, frames, frame, offset = self._stacks, self._frames, self._frame, self._offset
        for above, index in zip(prefix, func, strict=True):
            caller = rows[above] if above >= 0 else -1
            key = (caller, index)
            row = stacks.get(key)
            if row is None:
                row = stacks[key] = len(frame)
                known = frames.get(index)
                frame.append(self._frame_of(index) if known is None else known)
                offset.append(row - caller if caller >= 0 else 0)
            rows.append(row)
        return rows

    def recolour(self, tree: CallTree, categories: Sequence[int]) -> None:
        """Gives the stack of each of a tree's nodes another category. Nodes without a stack are left out.

        Funcs that are added later would get the frames of this, so it comes last.
        """
        row_of = [-1] * (len(tree) + 1)  # the last slot is for the prefix of roots, -1
        frames: dict[tuple[int, int], int] = {}
        for node, (prefix, func) in enumerate(zip(tree.prefix, tree.func, strict=True)):
            row = self._stacks.get((row_of[prefix], func), -1) if prefix < 0 or row_of[prefix] >= 0 else -1
            row_of[node] = row
            if row >= 0:
                key = (self._frames[func], categories[node])
                if key not in frames:
                    frames[key] = self._tables.add_frame(key[0], CategoryChoice(categories[node], 0))
                self._frame[row] = frames[key]

    def string(self, text: str) -> int:
        """Returns the index of a text."""
        return self._tables.strings.intern(safe_text(text))

    def write(self) -> Shared:
        """Returns the tables in the format's shape."""
        tables = self._tables
        return Shared(
            stringArray=tables.strings.array,
            stackTable=StackTable(len(self._frame), self._frame, self._offset),
            frameTable=tables.frames,
            funcTable=tables.funcs,
            resourceTable=tables.resources,
            nativeSymbols=NativeSymbols(),
            sources=tables.write_sources(),
            sourceLocationTable=tables.locations,
        )

    def _frame_of(self, func: int) -> int:
        frame = self._frames.get(func)
        if frame is None:
            known = self._funcs[func]
            frame = self._frames[func] = self._tables.add_func(known.row, known.choice, known.original)
        return frame


def _row(func: ExportFunc) -> FuncRow:
    if func == PRUNED:
        return PRUNED_ROW
    built_in = is_built_in(func)
    uri = None if func.uri is None else safe_text(func.uri)
    return FuncRow(
        name=safe_text(func.label) or ANONYMOUS,
        is_js=not built_in,
        relevant_for_js=built_in,
        uri=uri,
        line=func.line,
        column=func.column,
    )


def _sort_key(row: FuncRow) -> tuple[str, str, int, int, bool, bool, bool]:
    line, column = row.line, row.column
    return (
        row.name,
        row.uri or "",
        -1 if line is None else line,
        -1 if column is None else column,
        row.uri is None,
        row.is_js,
        row.relevant_for_js,
    )
