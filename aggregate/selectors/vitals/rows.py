"""The rows of vitals: which function or group each func of a reading counts for."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from msgspec import structs

from aggregate.selectors.code.rows import RowOf
from aggregate.selectors.code.symbols import Pair, RowId, Symbols
from aggregate.selectors.functions.display_rows import id_of_part, make_part_row
from aggregate.selectors.functions.groups import empty_group, name_group
from aggregate.selectors.functions.table import FunctionRow, describe_row, label_rows
from ingest.storage.groups import OTHER
from profcore.stats.estimates import weigh_rates
from profcore.sums.blobs import Contribution
from profcore.trace.funcs import FuncTable

K = TypeVar("K", bound=Hashable)
NO_FUNC: Final = 0  # funcs that the project had no room for are not stored


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

    def describe(self, row_id: RowId) -> FunctionRow:
        """Returns a row without sums."""
        if self.group_by != "function":
            return empty_group(str(row_id), self.group_by)
        members = self.members[row_id]
        made = make_part_row(self.code, members)
        row = made or max(members, key=lambda member: (int(member.id), member.release or ""))
        return describe_row(self.code, structs.replace(row, id=row_id, release=None))


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


class RateSums(Generic[K]):
    """Sums of µs by key, kept by the sampling rate of the views that they are of."""

    def __init__(self) -> None:
        self._of_rate: dict[float, Counter[K]] = {}

    def add(self, rate: float, key: K, us: int) -> None:
        """Adds what a view of this rate took."""
        self._of_rate.setdefault(rate, Counter())[key] += us

    def keys(self) -> set[K]:
        """Returns the keys of all views."""
        return {key for column in self._of_rate.values() for key in column}

    def sum(self, factors: Mapping[float, float]) -> Counter[K]:
        """Returns the sums over all views, given by how much those of each rate count (`find_factors`)."""
        summed: Counter[K] = Counter()
        for rate, column in self._of_rate.items():
            for key, us in column.items():
                summed[key] += round(us * factors[rate])
        return summed


def find_factors(views: Counter[float]) -> Mapping[float, float]:
    """Returns by how much the times of views count, given their numbers by rate.

    It is 1, so that sums are exact, or where rates differ, such that means per view are those of visits.
    """
    if len(views) <= 1:
        return dict.fromkeys(views, 1.0)
    weights = weigh_rates(views)
    visits = sum(count * weights[rate] for rate, count in views.items())
    return {rate: weight * views.total() / visits for rate, weight in weights.items()}


def contribution_of_values(values_us: Sequence[int]) -> Contribution:
    """Returns values of a view, µs, as a contribution whose funcs are their places."""
    above = [(at, us) for at, us in enumerate(values_us) if us]
    zeros = [0] * len(above)
    self_us = [us for _, us in above]
    return Contribution([at for at, _ in above], self_us, self_us, zeros, zeros, zeros, zeros, zeros)
