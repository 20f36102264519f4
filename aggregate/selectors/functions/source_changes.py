"""What changed in the text of a function between two releases, line by line."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from aggregate.selectors.functions.originals import (
    SOURCE_VIEW_LINE_CHARS,
    SOURCE_VIEW_LINES,
    select_function_texts,
    select_texts,
)
from aggregate.selectors.functions.table import FunctionRow
from profcore.symbolicate.lines import read_lines
from profcore.symbolicate.scopes import FunctionText

# Lines of a function that are compared, and lines of a change that are shown. Longer functions are rare, and comparing
# takes up to the product of both lengths.
CHANGE_MAX_LINES: Final = 400
CONTEXT_LINES: Final = 3

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
    sources = {"base": base.mapped.source_id, "head": head.mapped.source_id}
    texts = select_texts(project_id, sources)
    if len(texts) < 2:
        return None
    known = select_function_texts(project_id, {base.mapped.place, head.mapped.place})
    first, old = _lines_of(texts["base"], base.mapped.original.line, known.get(base.mapped.place))
    second, new = _lines_of(texts["head"], head.mapped.original.line, known.get(head.mapped.place))
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


def _lines_of(text: str, line: int, known: FunctionText | None) -> tuple[int, list[str]]:
    """Returns the number of a function's first line, and its lines, at most one more than are compared.

    Where labelling did not read the text, the lines after the definition stand for the function.
    """
    first = line if known is None else known.first_line
    count = SOURCE_VIEW_LINES if known is None else known.last_line - known.first_line + 1
    lines, _ = read_lines(text, first - 1, min(count, CHANGE_MAX_LINES + 1))
    return first, lines


def _cut(line: str) -> str:
    return line if len(line) <= SOURCE_VIEW_LINE_CHARS else line[:SOURCE_VIEW_LINE_CHARS] + "…"
