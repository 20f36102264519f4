"""Rows that a display rule made of several functions, found again by their ids."""

from dataclasses import dataclass, replace

from aggregate.selectors.code.refs import FuncRef
from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.functions.display_rows import id_of_part, make_part_row
from aggregate.selectors.functions.groups import select_function_table
from aggregate.selectors.functions.table import FunctionRow, FunctionTable, select_parts
from aggregate.selectors.slice.slices import Slice


@dataclass(frozen=True, slots=True)
class GroupedRow:
    """A row that display rules made, without sums, and the funcs that it is made of in a slice."""

    row: FunctionRow
    ref: FuncRef


def find_grouped_row(slice_: Slice, row_id: str) -> GroupedRow | None:
    """Returns the row that display rules make in a slice under an id, None if they make no such row. Takes a table's
    time.
    """
    code = load_symbols(slice_.project_id)
    if not code.display.sums_up:
        return None
    parts = [part for part in select_parts(slice_, code).functions if id_of_part(code, part) == row_id]
    row = make_part_row(code, parts) if parts else None
    if row is None:
        return None
    funcs = tuple(sorted({int(part.id) for part in parts}))
    pairs = None if code.labels is None else frozenset((part.release or "", int(part.id)) for part in parts)
    return GroupedRow(row, FuncRef(row_id, funcs, pairs))


def select_members(slice_: Slice, row_id: str) -> FunctionTable:
    """Returns the table of the stored functions of a slice that display rules show as one row.

    If a function is in the row only in some releases, because of its script's address, only those count. So the sums of
    self and hidden time are those of the row. The table is empty if the rules make no such row. Takes the time of two
    tables.
    """
    code = load_symbols(slice_.project_id)
    return select_function_table(replace(slice_, as_stored=True), keep=lambda part: id_of_part(code, part) == row_id)
