"""Comparisons and tables of functions that pages and the read API share: the last ones are cached."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Generic, TypeVar

from aggregate.selectors.code.symbols import RowId, Symbols, load_symbols
from aggregate.selectors.exports.slice_export import fingerprint_slice
from aggregate.selectors.functions.table import FunctionRow, FunctionTable
from aggregate.selectors.slice.read_context import once_a_read
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.comparisons import SliceComparison, compare_slices
from aggregate.selectors.statistics.estimates import COST_SORT, TableQuery, select_estimated
from aggregate.selectors.vitals.savings import Saving, rank_savings
from aggregate.selectors.vitals.table import VitalsQuery, VitalsTable, select_vitals
from dashboard.web.params import Narrowing
from profcore.caching import keep
from profcore.stats.views import Measure

# A table is narrowed, ordered and searched over one comparison. One of 2,000 functions takes 2 MB.
COMPARISONS_KEPT: Final = 4
# Of all cached tables together, as `weigh_table` estimates them: some thousand rows.
TABLE_BYTES_KEPT: Final = 8_000_000
ROW_BYTES: Final = 3_000  # a row with its estimates by two measures, without its texts
CHAR_BYTES: Final = 4  # at most
# Of all answers about vitals together, each a second's work: some for all six windows, with a few hundred functions.
VITALS_BYTES_KEPT: Final = 16_000_000
WINDOW_ROW_BYTES: Final = 1_500  # a row with its estimates, without its texts
# Rows that savings rank: those with the most self and hidden time. What is below takes less than each of them.
RANKED: Final = 500
WINDOW_ROWS: Final = 1_000  # of each window, in which the ranked rows are looked for

T = TypeVar("T")


def cached_comparison(
    base: Slice, head: Slice, measure: Measure, group_by: str, key: str, *, stratify: str = ""
) -> SliceComparison:
    """Returns the comparison of two slices. The last ones are kept in memory.

    `key` is the result of `key_of_sides` as a text: one more trace makes another comparison.
    """
    return _compare(base, head, measure, group_by, key, stratify)


@keep
@lru_cache(maxsize=COMPARISONS_KEPT)
def _compare(base: Slice, head: Slice, measure: Measure, group_by: str, _key: str, stratify: str) -> SliceComparison:
    return compare_slices(base, head, measure=measure, group_by=group_by, stratify=stratify)


@once_a_read
def key_of_sides(base: Slice, head: Slice) -> tuple[object, ...]:
    """Returns the key of a comparison: it changes with each folded trace, and with rules and labels.

    Contributions that expire later change nothing: a comparison from more of them stays right.
    """
    return key_of(load_symbols(base.project_id), base, head)


def key_of(code: Symbols, *slices: Slice) -> tuple[object, ...]:
    """Returns the key of what is computed from slices of one project."""
    return (
        code.project_id,
        [(slice_.query(), fingerprint_slice(slice_)) for slice_ in slices],
        sorted(code.sites),
        code.version,
    )


class Memory(Generic[T]):
    """The last answers by what decides them, those asked last at the end: bounded in bytes by a scale."""

    def __init__(self, scale: Callable[[T], int], most_bytes: int) -> None:
        self._scale, self.most_bytes = scale, most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, T] = OrderedDict()
        self._bytes = 0

    def find(self, key: str) -> T | None:
        with self._lock:
            if (entry := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
            return entry

    def keep(self, key: str, answer: T) -> None:
        size = self._scale(answer)
        with self._lock:
            if size > self.most_bytes or key in self._kept:
                return
            self._kept[key] = answer
            self._bytes += size
            while self._bytes > self.most_bytes:
                self._bytes -= self._scale(self._kept.popitem(last=False)[1])

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0


def weigh_table(table: FunctionTable) -> int:
    """Returns about how many bytes a table takes. Strangers write its texts, so these count with their length."""
    return ROW_BYTES * (1 + len(table.functions)) + CHAR_BYTES * _count_chars(table.functions)


def weigh_vitals(table: VitalsTable) -> int:
    """Returns about how many bytes an answer about vitals takes, as above. A function has its texts once."""
    rows = [row.row for window in table.windows for row in window.rows]
    rows += [row.row for row in table.forced_layout.rows]
    return WINDOW_ROW_BYTES * (1 + len(rows)) + CHAR_BYTES * _count_chars({row.id: row for row in rows}.values())


def _count_chars(rows: Iterable[FunctionRow]) -> int:
    return sum(len(row.name) + len(row.uri or "") for row in rows)


TABLES: Final = keep(Memory(weigh_table, TABLE_BYTES_KEPT))
VITALS: Final = keep(Memory(weigh_vitals, VITALS_BYTES_KEPT))


def answer_table(slice_: Slice, query: TableQuery) -> FunctionTable:
    """Returns the table of a slice with its estimates. The last ones are kept until a trace is folded into the slice.

    Fine slices are not cached: what decides them is not in their cells. One statement more than the table takes,
    but only three if it is cached.
    """
    if slice_.is_fine:
        return select_estimated(slice_, query)
    code = load_symbols(slice_.project_id, as_stored=slice_.as_stored)
    key = repr((key_of(code, slice_), query))
    table = TABLES.find(key)
    if table is None:
        table = replace(select_estimated(slice_, query, code=code), row_of=None)
        TABLES.keep(key, table)
    return table


def answer_function_costs(slice_: Slice, row_ids: Collection[RowId]) -> dict[RowId, float | None]:
    """Returns the self and hidden time per view of some functions of a slice, ms. No statement without functions."""
    if not row_ids:
        return {}
    table = answer_table(slice_, TableQuery(sort=COST_SORT, measure="self+hidden"))
    return {row.id: table.cost_ms_per_view(row) for row in table.functions if row.id in row_ids}


def answer_vitals(slice_: Slice, query: VitalsQuery) -> VitalsTable:
    """Returns what ran in the windows of a slice. The last answers are kept until a trace is folded into the slice.

    Two statements more than the answer takes. Raw traces that expire later change nothing: what was read stays right.
    """
    code = load_symbols(slice_.project_id, as_stored=slice_.as_stored)
    key = repr((key_of(code, slice_), query))
    table = VITALS.find(key)
    if table is None:
        table = select_vitals(slice_, query)
        VITALS.keep(key, table)
    return table


@dataclass(frozen=True, slots=True)
class Savings:
    """The rows of a slice by what they would save. `vitals` is None if the slice names traces or tags."""

    table: FunctionTable
    vitals: VitalsTable | None
    rows: Sequence[Saving]


def answer_savings(slice_: Slice, *, group_by: str, limit: int, narrowing: Narrowing) -> Savings:
    """Returns what the functions or groups of a slice would save. Raises `SliceError`."""
    query = TableQuery(
        group_by=group_by,
        sort="cost_ms_per_view",
        measure="self+hidden",
        limit=RANKED,
        categories=narrowing.categories,
        search=narrowing.search,
    )
    table = answer_table(slice_, query)
    vitals = find_vitals(slice_, group_by)
    return Savings(table, vitals, rank_savings(table, vitals, limit=limit))


def find_vitals(slice_: Slice, group_by: str) -> VitalsTable | None:
    """Returns the windows of a slice with as many rows as savings need; None if the slice names parts of views."""
    if slice_.traces or slice_.tags:
        return None
    return answer_vitals(slice_, VitalsQuery(group_by=group_by, limit=WINDOW_ROWS))
