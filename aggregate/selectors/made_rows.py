"""What a display rule made of several functions, found again by its id."""

from dataclasses import dataclass, replace

from aggregate.selectors.code import select_code
from aggregate.selectors.functions import FunctionRow, FunctionTable, select_parts
from aggregate.selectors.groups import select_groups
from aggregate.selectors.refs import FuncRef
from aggregate.selectors.shown_rows import id_of_part, make_part_row
from aggregate.selectors.slices import Slice


@dataclass(frozen=True, slots=True)
class MadeRow:
    """A row without sums, and the funcs that it is made of in a slice."""

    row: FunctionRow
    ref: FuncRef


def find_made(slice_: Slice, row_id: str) -> MadeRow | None:
    """Returns the row of an id that display rules made in a slice; None where they make none of it.

    What a table of the slice takes.
    """
    code = select_code(slice_.project_id)
    if not code.display.sums_up:
        return None
    parts = [part for part in select_parts(slice_, code).functions if id_of_part(code, part) == row_id]
    row = make_part_row(code, parts) if parts else None
    if row is None:
        return None
    funcs = tuple(sorted({int(part.id) for part in parts}))
    pairs = None if code.labels is None else frozenset((part.release or "", int(part.id)) for part in parts)
    return MadeRow(row, FuncRef(row_id, funcs, pairs))


def select_members(slice_: Slice, row_id: str) -> FunctionTable:
    """Returns the table of a slice's functions, as they are stored, that display rules show as one row.

    Of a function that they show there in some releases alone, as by its script's address, only these: so the sums of
    self and hidden time are the row's. Empty where they make none of it. What two tables of the slice take.
    """
    code = select_code(slice_.project_id)
    return select_groups(replace(slice_, as_stored=True), keep=lambda part: id_of_part(code, part) == row_id)
