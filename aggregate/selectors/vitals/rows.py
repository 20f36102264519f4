"""The rows of vitals: which function or group each func of a reading counts for."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import add
from typing import Final, NamedTuple

import numpy as np
from msgspec import structs

from aggregate.selectors.code.rows import RowOf
from aggregate.selectors.code.symbols import Pair, RowId, Symbols
from aggregate.selectors.functions.display_rows import id_of_part, make_part_row
from aggregate.selectors.functions.groups import empty_group, name_group
from aggregate.selectors.functions.table import FunctionRow, describe_row, label_rows
from ingest.storage.groups import OTHER
from profcore.stats.estimates import weigh_rates
from profcore.trace.funcs import FuncTable
from profcore.vitals.func_times import FuncTimes, add_up

NO_FUNC: Final = 0  # funcs that the project had no room for are not stored
ROWS_PER_SUM: Final = 50_000  # are kept before they are added up: those of a thousand views, 2 MB


class FuncUs(NamedTuple):
    """What a func took in some views, µs."""

    self_us: int
    total_us: int
    hidden_us: int

    def plus(self, added: "FuncUs") -> "FuncUs":
        """Returns the sum of both."""
        return FuncUs(*map(add, self, added))


NOTHING: Final = FuncUs(0, 0, 0)


class VitalsRows:
    """The row of each func, by its release and index."""

    def __init__(
        self, code: Symbols, pairs: Iterable[Pair], funcs: FuncTable, id_of: Sequence[int], group_by: str
    ) -> None:
        self.code = code
        self.group_by = group_by
        pairs = sorted(set(pairs))
        parts = label_rows(code, [_make_part(code, funcs, id_of, pair) for pair in pairs])
        names = [self._name(part) for part in parts]
        self.row_of_pair: dict[Pair, RowId] = dict(zip(pairs, names, strict=True))
        self.members: dict[RowId, list[FunctionRow]] = {}
        for part, name in zip(parts, names, strict=True):
            self.members.setdefault(name, []).append(part)
        self.row_of = RowOf.of_pairs(
            {(release, id_of[index]): name for (release, index), name in self.row_of_pair.items()}
        )

    def _name(self, part: FunctionRow) -> RowId:
        if self.group_by != "function":
            return name_group(self.group_by, self.code)(part)
        return NO_FUNC if part.id == NO_FUNC else id_of_part(self.code, part)

    def add_up(self, funcs: Mapping[Pair, FuncUs]) -> dict[RowId, FuncUs]:
        """Returns the sums of rows."""
        sums: dict[RowId, FuncUs] = {}
        for pair, us in funcs.items():
            known = sums.get(row_id := self.row_of_pair[pair])
            sums[row_id] = us if known is None else known.plus(us)
        return sums

    def describe(self, row_id: RowId) -> FunctionRow:
        """Returns a row without sums."""
        if self.group_by != "function":
            return empty_group(str(row_id), self.group_by)
        members = self.members[row_id]
        made = make_part_row(self.code, members)
        row = made or max(members, key=lambda member: (int(member.id), member.release or ""))
        return describe_row(self.code, structs.replace(row, id=row_id, release=None))


def describe_us(rows: VitalsRows, row_id: RowId, us: FuncUs) -> FunctionRow:
    """Returns a row with its sums. The total of a group is not the sum of its functions': it has none."""
    total_us = us.total_us if rows.group_by == "function" else 0
    return structs.replace(rows.describe(row_id), self_us=us.self_us, hidden_us=us.hidden_us, total_us=total_us)


def _make_part(code: Symbols, funcs: FuncTable, id_of: Sequence[int], pair: Pair) -> FunctionRow:
    release, index = pair
    if id_of[index] == NO_FUNC:
        return FunctionRow(id=NO_FUNC, name=OTHER)
    key = funcs.keys[index]
    return FunctionRow(
        id=id_of[index],
        name=key.name,
        uri=key.uri,
        line=key.line,
        column=key.column,
        release=release if code.labels is not None else None,
    )


class RateSums:
    """Sums of funcs' times, kept by the sampling rate and the release of the views that they are of."""

    def __init__(self) -> None:
        self._of_views: dict[tuple[float, str], list[FuncTimes]] = {}
        self._waiting = 0  # rows
        self._most_waiting = ROWS_PER_SUM

    def add(self, rate: float, times: FuncTimes, release: str = "") -> None:
        """Adds what a view of this rate and release took."""
        self._of_views.setdefault((rate, release), []).append(times)
        self._waiting += 1 + times.func.size
        if self._waiting >= self._most_waiting:
            self._of_views = {key: [add_up(tables)] for key, tables in self._of_views.items()}
            summed = sum(table.func.size for tables in self._of_views.values() for table in tables)
            self._waiting, self._most_waiting = 0, max(summed, ROWS_PER_SUM)

    def sum(self, factors: Mapping[float, float]) -> dict[Pair, FuncUs]:
        """Returns the sums over all views, given by how much those of each rate count (`find_factors`).

        Funcs that took nothing are missing.
        """
        sums: dict[Pair, FuncUs] = {}
        for (rate, release), tables in self._of_views.items():
            func, *columns = add_up(tables)
            counted = (np.rint(column * factors[rate]).astype(np.int64).tolist() for column in columns)
            for index, *us in zip(func.tolist(), *counted, strict=True):
                added = FuncUs(*us)
                if any(added):
                    known = sums.get((release, index))
                    sums[release, index] = added if known is None else known.plus(added)
        return sums


def find_factors(views: Counter[float]) -> Mapping[float, float]:
    """Returns by how much the times of views count, given their numbers by rate.

    It is 1, so that sums are exact, or where rates differ, such that means per view are those of visits.
    """
    if len(views) <= 1:
        return dict.fromkeys(views, 1.0)
    weights = weigh_rates(views)
    visits = sum(count * weights[rate] for rate, count in views.items())
    return {rate: weight * views.total() / visits for rate, weight in weights.items()}
