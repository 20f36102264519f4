"""Which measured functions a change touches: their lines in the checkout, by name and by indentation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from fieldflame.exits import UsageError
from fieldflame.lsp.costs import Cost, Costs, FileCosts
from fieldflame.lsp.places import Place, find_places
from fieldflame.review.diff import Span, Touched

ENDINGS: Final = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".astro")
MAX_FILES: Final = 300  # of one change; each is a request
MAX_FILE_BYTES: Final = 5_000_000  # a longer one was written by no person
TAB: Final = 8


@dataclass(frozen=True)
class TouchedFunction:
    """A measured function that a change touches. `line` is 1-based, in the checkout."""

    path: str
    line: int
    cost: Cost


@dataclass(frozen=True)
class TouchedFunctions:
    """All of them, the dearest first, the release that was measured, and how many files were looked at."""

    functions: tuple[TouchedFunction, ...]
    release: str | None
    files: int
    left_out: int


def find_touched(costs: Costs, touched: Touched, root: Path) -> TouchedFunctions:
    """Returns the measured functions that a change touches. Raises `CommandError`."""
    paths = sorted(path for path in touched if path.endswith(ENDINGS))
    found: list[TouchedFunction] = []
    known: FileCosts | None = None
    for path in paths[:MAX_FILES]:
        lines = _read_lines(root / path)
        if lines is None:
            continue
        known = costs.find(path)
        find_line = partial(_find_line, costs, known.release or "")
        places, _ = find_places(lines, known.functions, find_line)
        found += [
            TouchedFunction(path=path, line=place.line + 1, cost=place.cost)
            for place in pick_touched(lines, places, touched[path])
        ]
    found.sort(key=lambda function: -function.cost.ms_per_view)
    return TouchedFunctions(
        functions=tuple(found),
        release=known.release if known else None,
        files=min(len(paths), MAX_FILES),
        left_out=max(len(paths) - MAX_FILES, 0),
    )


def _find_line(costs: Costs, release: str, cost: Cost) -> Sequence[str] | None:
    return costs.find_line(cost.id, release)


def pick_touched(lines: Sequence[str], places: Sequence[Place], touched: Iterable[Span]) -> list[Place]:
    """Returns the places of functions that have a touched span: of nested ones, the innermost.

    A function ends before the next line that is indented no more than the line of its definition, except for what
    closes it. Code that a formatter wrote is like that.
    """
    ends = {place: find_end(lines, place.line) for place in places}
    picked: list[Place] = []
    for first, last in sorted(touched):
        around = [place for place in places if place.line <= first and last <= ends[place]]
        if around:
            innermost = max(around, key=lambda place: (place.line, -ends[place]))
            if innermost not in picked:
                picked.append(innermost)
    return picked


def find_end(lines: Sequence[str], start: int) -> int:
    """Returns the last line of what begins in a line, by indentation."""
    own = _indent(lines[start])
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if not line.strip() or _indent(line) > own:
            continue
        if line.strip()[0] in "})]":
            # `) {` or `}: Props) {` ends only the head of a definition.
            if line.rstrip().endswith(("{", "=>", "(")) and number + 1 < len(lines):
                continue
            return number
        return number - 1
    return len(lines) - 1


def _indent(line: str) -> int:
    expanded = line.expandtabs(TAB)
    return len(expanded) - len(expanded.lstrip())


def _read_lines(path: Path) -> list[str] | None:
    try:
        if path.is_symlink() or not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"A file of the change cannot be read: {error.strerror}.") from None
    return None if len(data) > MAX_FILE_BYTES else data.decode("utf-8", "replace").splitlines()
