"""Where a measured function is in a file that may have changed since: by its line, its name, or the lines around it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fieldflame.lsp.costs import Cost

MAX_LINES: Final = 20_000  # of a longer file nothing is shown: no person wrote it
MAX_LINE_CHARS: Final = 1_000  # of a line that is looked at
NEIGHBOURS: Final = 3  # above and below a definition
LEAST_ALIKE: Final = 3  # of those lines with its own


@dataclass(frozen=True)
class Place:
    """A function's line in the file, from 0. `is_stale`: it is not where it was measured, so the file has changed."""

    cost: Cost
    line: int
    is_stale: bool


def find_places(
    lines: Sequence[str], costs: Sequence[Cost], find_line: Callable[[Cost], Sequence[str] | None]
) -> tuple[list[Place], int]:
    """Returns the places of functions, and how many are not in the file any more.

    `find_line` returns the measured lines around a definition, for functions whose name does not say where they are.
    """
    if len(lines) > MAX_LINES:
        return [], 0
    shown = [line[:MAX_LINE_CHARS] for line in lines]
    places, missing = [], 0
    for cost in costs:
        line = _find_by_name(shown, cost)
        if line is None:
            line = _find_by_neighbours(shown, cost, find_line(cost))
        if line is None:
            missing += 1
        else:
            places.append(Place(cost=cost, line=line, is_stale=line != cost.line - 1))
    return places, missing


def _find_by_name(lines: Sequence[str], cost: Cost) -> int | None:
    """Returns the line that defines the function's name and is nearest to where it was measured."""
    if not cost.name:
        return None
    plain = cost.name.rpartition(".")[2].rpartition(" ")[2].lstrip("#")
    name, at = re.escape(plain), cost.line - 1
    if 0 <= at < len(lines) and re.search(rf"(?<![\w$]){name}(?![\w$])", lines[at]):
        return at
    defines = re.compile(
        rf"(?<![\w$])(?:function\s*\*?\s*|class\s+)#?{name}(?![\w$])"  # function name
        rf"|(?<![\w$.])#?{name}\s*(?::[^=;]*)?=(?![=>])"  # name = …, name: Type = …
        rf"|(?<![\w$.])['\"]?#?{name}['\"]?\s*:\s*(?:async\b|function\b|\(|\w+\s*=>)"  # name: function
        rf"|^\s*(?:(?:public|private|protected|static|async|override|get|set)\s+|\*\s*)*#?{name}\s*(?:<[^>]*>)?\([^;]*$"
    )
    found = [number for number, line in enumerate(lines) if plain in line and defines.search(line)]
    return min(found, key=lambda number: abs(number - at), default=None)


def _find_by_neighbours(lines: Sequence[str], cost: Cost, measured: Sequence[str] | None) -> int | None:
    """Returns the line with the text of the measured definition whose neighbours are most alike."""
    if not measured:
        return None
    middle = len(measured) // 2
    wanted = measured[middle].strip()[:MAX_LINE_CHARS].strip()
    if not wanted:
        return None
    around = [line.strip() for line in measured[max(middle - NEIGHBOURS, 0) : middle + NEIGHBOURS + 1]]
    best, at = 0, None
    for number, line in enumerate(lines):
        if line.strip() != wanted:
            continue
        near = {text.strip() for text in lines[max(number - NEIGHBOURS, 0) : number + NEIGHBOURS + 1]}
        alike = sum(text in near for text in around if text)
        nearer = at is not None and alike == best and abs(number - cost.line + 1) < abs(at - cost.line + 1)
        if alike > best or nearer:
            best, at = alike, number
    return at if best >= min(LEAST_ALIKE, sum(bool(text) for text in around)) else None
