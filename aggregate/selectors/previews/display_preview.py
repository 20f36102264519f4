"""A preview of display rules: the functions that each decides, and the table before and after.

Sums are of the whole project over all time, as in a table of functions. Totals are left out: they take call trees.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from aggregate.selectors.code.symbols import RowId, Symbols, load_symbols
from aggregate.selectors.functions.display_rows import id_of_part, make_part_row, stored_id_of_part
from aggregate.selectors.functions.table import FunctionRow, describe_row, select_parts, sort_rows
from aggregate.selectors.slice.slices import Slice
from profcore.code.display_rules import DisplayRules

PREVIEW_ROWS: Final = 15  # as many as a person compares side by side; rules are mostly about the top rows

Members = dict[RowId, list[FunctionRow]]  # the funcs of each row


@dataclass(frozen=True, slots=True)
class RuleEffect:
    """The effect of one rule: how many functions it decides, their self µs, and how many it fits by itself."""

    decided: int
    self_us: int
    fits: int

    @property
    def taken(self) -> int:
        """The number of functions that it fits and that rules above it decide."""
        return self.fits - self.decided


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A row of the table with its self and hidden time, its number of functions, and whether it changes."""

    row: FunctionRow
    func_count: int
    is_changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayPreview:
    """The top rows of the table now and with the new rules, and the effect of each rule, in their order."""

    js_us: int
    stored_count: int
    before_count: int
    after_count: int
    before: Sequence[PreviewRow]
    after: Sequence[PreviewRow]
    effects: Sequence[RuleEffect]


def preview_display(project_id: int, rules: DisplayRules) -> DisplayPreview:
    """Returns how rules would show a project's functions. Nothing is stored. Takes the time of a table of functions."""
    now = load_symbols(project_id)
    then = now.with_display(rules)
    table = select_parts(Slice(project_id=project_id), now)
    parts = table.functions
    before, after = _group(now, parts), _group(then, parts)
    return DisplayPreview(
        js_us=table.time.js_us,
        stored_count=len({stored_id_of_part(now, part) for part in parts}),
        before_count=len(before),
        after_count=len(after),
        before=_top(now, before, then, after),
        after=_top(then, after, now, before),
        effects=_tell_effects(then, parts),
    )


def _group(code: Symbols, parts: Iterable[FunctionRow]) -> Members:
    members: Members = {}
    for part in parts:
        members.setdefault(id_of_part(code, part), []).append(part)
    return members


def _top(code: Symbols, members: Members, other_code: Symbols, others: Members) -> list[PreviewRow]:
    """Returns the top rows by some rules. A row that the other rules show differently, or not at all, is changed."""
    rows = []
    for row in sort_rows([_sum_row(row_id, some) for row_id, some in members.items()], "self_ms")[:PREVIEW_ROWS]:
        preview = _show_row(code, row, members[row.id])
        other_preview = _show_row(other_code, row, others[row.id]) if row.id in others else None
        is_changed = other_preview is None or _appearance(preview) != _appearance(other_preview)
        rows.append(replace(preview, is_changed=is_changed))
    return rows


def _sum_row(row_id: RowId, members: Sequence[FunctionRow]) -> FunctionRow:
    return structs.replace(
        max(members, key=lambda part: (int(part.id), part.release or "")),
        id=row_id,
        self_us=sum(part.self_us for part in members),
        hidden_us=sum(part.hidden_us for part in members),
        uncertain_us=sum(part.uncertain_us for part in members),
    )


def _appearance(preview: PreviewRow) -> tuple[object, ...]:
    display = preview.row.display
    return preview.row.label, display and display.colour, preview.func_count


def _show_row(code: Symbols, row: FunctionRow, members: Sequence[FunctionRow]) -> PreviewRow:
    """Returns a row of some funcs as the rules show it."""
    made = make_part_row(code, members)
    func_count = len({stored_id_of_part(code, part) for part in members})
    if made is None:
        return PreviewRow(describe_row(code, row), func_count)
    return PreviewRow(structs.replace(made, self_us=row.self_us, hidden_us=row.hidden_us), func_count)


def _tell_effects(code: Symbols, parts: Iterable[FunctionRow]) -> list[RuleEffect]:
    count = len(code.display)
    decided: list[set[RowId]] = [set() for _ in range(count)]
    fitting: list[set[RowId]] = [set() for _ in range(count)]
    self_us = [0] * count
    for part in parts:
        row_id = stored_id_of_part(code, part)
        for at in code.fitting_rules(part.key, part.mapped):
            fitting[at].add(row_id)
        display = code.show(part.key, part.mapped)
        if display is not None:
            decided[display.rule].add(row_id)
            self_us[display.rule] += part.self_us
    return [RuleEffect(len(decided[at]), self_us[at], len(fitting[at])) for at in range(count)]
