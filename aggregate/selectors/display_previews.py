"""What display rules would change, before anything does: which functions each decides, and the table before and after.

Sums are of the whole project, over all time, as a table of functions has them; totals would take its call trees.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from aggregate.selectors.code import Code, RowId, select_code
from aggregate.selectors.functions import FunctionRow, describe_row, select_parts, sort_rows
from aggregate.selectors.shown_rows import id_of_part, make_part_row, stored_id_of_part
from aggregate.selectors.slices import Slice
from profcore.display_rules import DisplayRules

PREVIEW_ROWS: Final = 15  # what a person compares side by side; rules are about what is on top

Members = dict[RowId, list[FunctionRow]]  # the funcs of each row


@dataclass(frozen=True, slots=True)
class RuleEffect:
    """What one rule does: how many functions it decides, with their self µs, and how many it would fit by itself."""

    decided: int
    self_us: int
    fits: int

    @property
    def taken(self) -> int:
        """How many functions that it fits are decided by rules above it."""
        return self.fits - self.decided


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A row of the table with its self and hidden time, of how many functions it is made, and if it changes."""

    row: FunctionRow
    func_count: int
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class DisplayPreview:
    """The top of the table as it is shown now and as it would be, and what each rule does, in their order."""

    js_us: int
    stored_count: int
    before_count: int
    after_count: int
    before: Sequence[PreviewRow]
    after: Sequence[PreviewRow]
    effects: Sequence[RuleEffect]


def preview_display(project_id: int, rules: DisplayRules) -> DisplayPreview:
    """Returns what rules would make of a project's functions. Nothing is stored. What a table of functions takes."""
    now = select_code(project_id)
    then = now.with_display(rules)
    table = select_parts(Slice(project_id), now)
    parts = table.functions
    before, after = _group(now, parts), _group(then, parts)
    return DisplayPreview(
        table.time.js_us,
        len({stored_id_of_part(now, part) for part in parts}),
        len(before),
        len(after),
        _top(now, before, then, after),
        _top(then, after, now, before),
        _tell_effects(then, parts),
    )


def _group(code: Code, parts: Iterable[FunctionRow]) -> Members:
    members: Members = {}
    for part in parts:
        members.setdefault(id_of_part(code, part), []).append(part)
    return members


def _top(code: Code, members: Members, other_code: Code, others: Members) -> list[PreviewRow]:
    """Returns the rows on top by some rules; what is not the same by the others is changed."""
    rows = []
    for row in sort_rows([_sum_row(row_id, some) for row_id, some in members.items()], "self_ms")[:PREVIEW_ROWS]:
        told = _tell_row(code, row, members[row.id])
        other = _tell_row(other_code, row, others[row.id]) if row.id in others else None
        is_changed = other is None or _looks(told) != _looks(other)
        rows.append(replace(told, is_changed=is_changed))
    return rows


def _sum_row(row_id: RowId, members: Sequence[FunctionRow]) -> FunctionRow:
    return replace(
        max(members, key=lambda part: (int(part.id), part.release or "")),
        id=row_id,
        self_us=sum(part.self_us for part in members),
        hidden_us=sum(part.hidden_us for part in members),
    )


def _looks(told: PreviewRow) -> tuple[object, ...]:
    shown = told.row.shown
    return told.row.label, shown and shown.colour, told.func_count


def _tell_row(code: Code, row: FunctionRow, members: Sequence[FunctionRow]) -> PreviewRow:
    """Returns a row as some rules show it."""
    made = make_part_row(code, members)
    func_count = len({stored_id_of_part(code, part) for part in members})
    if made is None:
        return PreviewRow(describe_row(code, row), func_count)
    return PreviewRow(replace(made, self_us=row.self_us, hidden_us=row.hidden_us), func_count)


def _tell_effects(code: Code, parts: Iterable[FunctionRow]) -> list[RuleEffect]:
    count = len(code.display)
    decided: list[set[RowId]] = [set() for _ in range(count)]
    fitting: list[set[RowId]] = [set() for _ in range(count)]
    self_us = [0] * count
    for part in parts:
        own = stored_id_of_part(code, part)
        for at in code.fitting_rules(part.key, part.mapped):
            fitting[at].add(own)
        shown = code.show(part.key, part.mapped)
        if shown is not None:
            decided[shown.rule].add(own)
            self_us[shown.rule] += part.self_us
    return [RuleEffect(len(decided[at]), self_us[at], len(fitting[at])) for at in range(count)]
