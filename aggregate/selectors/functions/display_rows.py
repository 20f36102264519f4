"""The row that each func is shown in: its function's own, or one that display rules make of several functions."""

from collections.abc import Iterable, Sequence

from aggregate.selectors.code.symbols import RowId, Symbols
from aggregate.selectors.functions.table import FunctionRow
from profcore.code.display_rules import DISPLAY_ID, Display


def is_made_id(row_id: RowId) -> bool:
    """Returns whether an id is that of a row that a display rule made."""
    return isinstance(row_id, str) and DISPLAY_ID.fullmatch(row_id) is not None


def id_of_part(code: Symbols, part: FunctionRow) -> RowId:
    """Returns the id of the row that a release's func belongs to: a display rule's row, or its function's."""
    display = code.show(part.key, part.mapped)
    return display.row_id if display is not None and display.row_id is not None else stored_id_of_part(code, part)


def stored_id_of_part(code: Symbols, part: FunctionRow) -> RowId:
    """Returns the id of the function that a release's func is."""
    if code.labels is None or part.release is None:
        return part.id
    return code.labels.id_of(part.release, int(part.id))


def make_part_row(code: Symbols, members: Sequence[FunctionRow]) -> FunctionRow | None:
    """Returns the row, without sums, that display rules make of some funcs; None if no rule makes a row of them."""
    displays = [code.show(member.key, member.mapped) for member in members]
    made = [display for display in displays if display is not None and display.row_id is not None]
    return make_shown_row(code, min(made, key=lambda display: display.rule), members) if made else None


def make_shown_row(code: Symbols, display: Display, members: Iterable[FunctionRow]) -> FunctionRow:
    """Returns the row that a display rule makes of some functions, without sums.

    Its category is the one that all of them have in common, if any.
    """
    assert display.row_id is not None
    title = display.title or ""
    category: str | None = None
    for at, member in enumerate(members):
        member_category = code.categorize(member.key, member.mapped)
        if at and member_category != category:
            category = None
            break
        category = member_category
    return FunctionRow(
        id=display.row_id,
        name=title,
        category=category,
        display=display,
    )


def show_rows(code: Symbols, parts: Sequence[FunctionRow]) -> list[FunctionRow]:
    """Returns the row, without sums, that each func is shown in. Funcs that a rule shows as one get the same row."""
    members: dict[str, list[FunctionRow]] = {}
    displays = [code.show(part.key, part.mapped) for part in parts]
    ids = [display.row_id if display is not None else None for display in displays]
    for part, row_id in zip(parts, ids, strict=True):
        if row_id is not None:
            members.setdefault(row_id, []).append(part)
    made = {row_id: make_part_row(code, some) for row_id, some in members.items()}
    return [(made[row_id] if row_id is not None else None) or part for part, row_id in zip(parts, ids, strict=True)]
