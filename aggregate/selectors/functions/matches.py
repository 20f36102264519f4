"""Functions that a new release seems to have moved or renamed: offered as matches, never merged without being asked."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from aggregate.selectors.code.symbols import RowId, load_symbols
from aggregate.selectors.functions.groups import select_function_table
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.slice.slices import Slice

Reason = Literal["body", "name"]
MAX_MATCHES: Final = 500


@dataclass(frozen=True, slots=True)
class FuncMatch:
    """A function that only the base has, and one that only the head has. `reason` says what they have in common."""

    gone: FunctionRow
    came: FunctionRow
    reason: Reason


def select_matches(base: Slice, head: Slice) -> Sequence[FuncMatch]:
    """Returns the likely matches between functions that are gone and functions that are new, the most costly first.

    Both have the same body except for names (`body`), or the same name in the same source (`name`). If several
    functions of a side would match, none is offered. Without source maps there are no matches.
    """
    if load_symbols(base.project_id).labels is None:
        return []
    sides = [
        {row.id: row for row in select_function_table(replace(side, as_stored=True)).functions if row.mapped}
        for side in (base, head)
    ]
    gone = {row_id: row for row_id, row in sides[0].items() if row_id not in sides[1]}
    came = {row_id: row for row_id, row in sides[1].items() if row_id not in sides[0]}
    matches = match_rows(gone, came)
    return sorted(matches, key=lambda match: -(match.gone.self_us + match.came.self_us))[:MAX_MATCHES]


def match_rows(gone: Mapping[RowId, FunctionRow], came: Mapping[RowId, FunctionRow]) -> list[FuncMatch]:
    """Returns the matches between functions that are gone and new ones, given by id; unmapped ones have no match."""
    gone, came = dict(gone), dict(came)
    matches: list[FuncMatch] = []
    reasons: tuple[tuple[Reason, Callable[[FunctionRow], Hashable | None]], ...] = (("body", _body), ("name", _name))
    for reason, key_of in reasons:
        for old, new in _pair(gone, came, key_of):
            matches.append(FuncMatch(gone.pop(old), came.pop(new), reason))
    return matches


def _body(row: FunctionRow) -> Hashable | None:
    return row.mapped.original.body_hash if row.mapped else None


def _name(row: FunctionRow) -> Hashable | None:
    original = row.mapped.original if row.mapped else None
    return (original.source, original.name) if original is not None and original.name else None


def _pair(
    gone: dict[RowId, FunctionRow], came: dict[RowId, FunctionRow], key_of: Callable[[FunctionRow], Hashable | None]
) -> list[tuple[RowId, RowId]]:
    old, new = _find_unique(gone, key_of), _find_unique(came, key_of)
    return [(row_id, new[key]) for key, row_id in old.items() if key in new]


def _find_unique(
    rows: dict[RowId, FunctionRow], key_of: Callable[[FunctionRow], Hashable | None]
) -> dict[Hashable, RowId]:
    """Returns the id of each row that is the only one with its key, by key."""
    ids_of_key: dict[Hashable, list[RowId]] = {}
    for row_id, row in rows.items():
        if (key := key_of(row)) is not None:
            ids_of_key.setdefault(key, []).append(row_id)
    return {key: ids[0] for key, ids in ids_of_key.items() if len(ids) == 1}
