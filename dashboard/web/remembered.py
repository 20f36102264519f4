"""Comparisons and tables of functions that pages and the read API share: the last ones are remembered."""

import threading
from collections import OrderedDict
from dataclasses import replace
from functools import lru_cache
from typing import Final

from aggregate.selectors.code.project_code import Code, select_code
from aggregate.selectors.exports.slice_export import fingerprint_slice
from aggregate.selectors.functions.table import FunctionTable
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.comparisons import SliceComparison, compare_slices
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from aggregate.selectors.vitals.table import VitalsQuery, VitalsTable, select_vitals
from profcore.stats.views import Measure

# A table is narrowed, ordered and searched over one comparison. One of 2,000 functions takes 2 MB.
COMPARISONS_KEPT: Final = 4
# Each is a second's work: raw traces are read. One of six windows of 1,000 functions takes 3 MB.
VITALS_KEPT: Final = 4
# Of all remembered tables together, as `weigh_table` estimates them: some thousand rows.
TABLE_BYTES_KEPT: Final = 8_000_000
ROW_BYTES: Final = 3_000  # a row with its estimates by two measures, without its texts
CHAR_BYTES: Final = 4  # at most


def remember_comparison(
    base: Slice, head: Slice, measure: Measure, group_by: str, facts: str, *, stratify: str = ""
) -> SliceComparison:
    """Returns the comparison of two slices. The last ones are kept in memory.

    `facts` is the result of `facts_of_sides` as a text: one more trace makes another comparison.
    """
    return _remember(base, head, measure, group_by, facts, stratify)


@lru_cache(maxsize=COMPARISONS_KEPT)
def _remember(base: Slice, head: Slice, measure: Measure, group_by: str, _facts: str, stratify: str) -> SliceComparison:
    return compare_slices(base, head, measure=measure, group_by=group_by, stratify=stratify)


def facts_of_sides(base: Slice, head: Slice) -> tuple[object, ...]:
    """Returns the facts that decide a comparison: they change with each folded trace, and with rules and labels.

    Contributions that expire later change nothing: a comparison from more of them stays right.
    """
    return facts_of(select_code(base.project_id), base, head)


def facts_of(code: Code, *slices: Slice) -> tuple[object, ...]:
    """Returns the facts that decide what is computed from slices of one project."""
    return (
        code.project_id,
        [(each.query(), fingerprint_slice(each)) for each in slices],
        sorted(code.sites),
        code.version,
    )


class _Tables:
    """The last tables by what decides them, those asked last at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, FunctionTable] = OrderedDict()
        self._bytes = 0

    def find(self, key: str) -> FunctionTable | None:
        with self._lock:
            if (found := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
            return found

    def keep(self, key: str, table: FunctionTable) -> None:
        size = weigh_table(table)
        with self._lock:
            if size > TABLE_BYTES_KEPT or key in self._kept:
                return
            self._kept[key] = table
            self._bytes += size
            while self._bytes > TABLE_BYTES_KEPT:
                self._bytes -= weigh_table(self._kept.popitem(last=False)[1])

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0


def weigh_table(table: FunctionTable) -> int:
    """Returns about how many bytes a table takes. Strangers write its texts, so these count with their length."""
    chars = sum(len(row.name) + len(row.uri or "") for row in table.functions)
    return ROW_BYTES * (1 + len(table.functions)) + CHAR_BYTES * chars


TABLES: Final = _Tables()


def forget_tables() -> None:
    """Empties the process's memory of tables, comparisons and vitals, between tests."""
    TABLES.forget()
    _remember.cache_clear()
    _remember_vitals.cache_clear()


def answer_table(slice_: Slice, asked: TableQuery) -> FunctionTable:
    """Returns the table of a slice with its estimates. The last ones are kept until a trace is folded into the slice.

    Fine slices are not remembered: what decides them is not in their cells. One statement more than the table takes,
    but only three if it is remembered.
    """
    if slice_.is_fine:
        return select_estimated(slice_, asked)
    code = select_code(slice_.project_id, as_stored=slice_.as_stored)
    key = repr((facts_of(code, slice_), asked))
    found = TABLES.find(key)
    if found is None:
        found = replace(select_estimated(slice_, asked, code=code), row_of=None)
        TABLES.keep(key, found)
    return found


def answer_vitals(slice_: Slice, asked: VitalsQuery) -> VitalsTable:
    """Returns what ran in the windows of a slice. The last answers are kept until a trace is folded into the slice.

    Two statements more than the answer takes. Raw traces that expire later change nothing: what was read stays right.
    """
    code = select_code(slice_.project_id, as_stored=slice_.as_stored)
    return _remember_vitals(slice_, asked, repr(facts_of(code, slice_)))


@lru_cache(maxsize=VITALS_KEPT)
def _remember_vitals(slice_: Slice, asked: VitalsQuery, _facts: str) -> VitalsTable:
    return select_vitals(slice_, asked)
