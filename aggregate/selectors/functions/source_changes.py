"""What changed in the text of a function between two releases, line by line."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from aggregate.selectors.functions.originals import SOURCE_VIEW_LINE_CHARS, SOURCE_VIEW_LINES, select_texts
from aggregate.selectors.functions.table import FunctionRow
from profcore.symbolicate.lines import split_lines
from profcore.symbolicate.scopes import read_scopes

# Lines of a function that are compared, and lines of a change that are shown. Longer functions are rare, and comparing
# takes up to the product of both lengths.
CHANGE_MAX_LINES: Final = 400
CONTEXT_LINES: Final = 3
# A longer source is not parsed in a request (a megabyte takes 0.2 s): the lines after the definition stand for the
# function.
PARSED_MAX_CHARS: Final = 1_000_000

LineKind = Literal["same", "added", "removed", "gap"]


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A line of a change, with its number in each release that has it. A `gap` stands for equal lines left out."""

    kind: LineKind
    base_number: int | None = None
    head_number: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChange:
    """The changed lines of a function with some equal ones around them; none if the texts are equal.

    `is_cut` tells that the function or its change has more lines.
    """

    lines: Sequence[ChangedLine]
    is_cut: bool


def select_change(project_id: int, base: FunctionRow, head: FunctionRow) -> SourceChange | None:
    """Returns the change of a function's text between two releases, None if a text is not known. Two statements."""
    if base.mapped is None or head.mapped is None:
        return None
    texts = select_texts(project_id, {"base": base.mapped.source_id, "head": head.mapped.source_id})
    if len(texts) < 2:
        return None
    first, old = _lines_of(texts["base"], base)
    second, new = _lines_of(texts["head"], head)
    is_cut = max(len(old), len(new)) > CHANGE_MAX_LINES
    old, new = old[:CHANGE_MAX_LINES], new[:CHANGE_MAX_LINES]
    lines: list[ChangedLine] = []
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT_LINES):
        lines += [ChangedLine("gap")] if lines else []
        for tag, start, end, head_start, head_end in group:
            if tag == "equal":
                lines += [
                    ChangedLine("same", first + at, second + head_start + at - start, _cut(old[at]))
                    for at in range(start, end)
                ]
                continue
            lines += [ChangedLine("removed", first + at, None, _cut(old[at])) for at in range(start, end)]
            lines += [ChangedLine("added", None, second + at, _cut(new[at])) for at in range(head_start, head_end)]
    return SourceChange(lines=lines[:CHANGE_MAX_LINES], is_cut=is_cut or len(lines) > CHANGE_MAX_LINES)


def _lines_of(text: str, row: FunctionRow) -> tuple[int, list[str]]:
    """Returns the number of a function's first line, and its lines."""
    assert row.mapped is not None
    original = row.mapped.original
    lines = split_lines(text)
    if len(text) <= PARSED_MAX_CHARS and (scopes := read_scopes(text, original.source)) is not None:
        scope_text = scopes.find_text(original.line, original.column)
        if scope_text is not None:
            return scope_text.first_line, lines[scope_text.first_line - 1 : scope_text.last_line]
    first = min(original.line, len(lines))
    return first, lines[first - 1 : first - 1 + SOURCE_VIEW_LINES]


def _cut(line: str) -> str:
    return line if len(line) <= SOURCE_VIEW_LINE_CHARS else line[:SOURCE_VIEW_LINE_CHARS] + "…"
