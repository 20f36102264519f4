"""The comparison as a CSV file."""

from collections.abc import Iterator
from typing import Final

from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.statistics.moved import find_moved
from dashboard.pages.compare.comparison import ComparisonRequest
from dashboard.pages.compare.table import list_wanted, sureness_of
from profcore.formats.table import Cell, encode_row
from profcore.stats.comparison import Difference

CSV_COLUMNS: Final = (
    "id", "label", "name", "uri", "line", "column", "original_source", "original_line", "original_column", "status",
    "base_ms_per_view", "head_ms_per_view", "delta_ms_per_view", "delta_low", "delta_high", "relative",
    "self_delta_ms_per_view", "mix_ms_per_view", "p", "q", "sureness", "base_views_ran", "head_views_ran",
    "renamed_from", "renamed_from_id",
)  # fmt: skip


def write_csv(comparison: ComparisonRequest) -> Iterator[bytes]:
    """Yields the table as CSV: all requested rows, in order, numbers unrounded."""
    answer = comparison.compare()
    moved = find_moved(answer)
    yield encode_row(CSV_COLUMNS)
    for difference in list_wanted(answer, comparison.options, comparison.code()):
        func = answer.funcs[difference.func_id]
        old = func.renamed_from
        renamed = (None, None) if old is None else (old.label, str(old.id))
        yield encode_row(
            (*_csv_row(func, difference, sureness_of(difference, may_have_moved=difference.func_id in moved)), *renamed)
        )


def _csv_row(func: FunctionRow, difference: Difference, sureness: str) -> tuple[Cell, ...]:
    original = func.mapped.original if func.mapped else None
    return (
        str(func.id),
        func.label,
        func.name,
        func.uri,
        func.line,
        func.column,
        *((original.source, original.line, original.column) if original else (None, None, None)),
        difference.status,
        difference.base_ms,
        difference.head_ms,
        difference.delta_ms,
        *((difference.ci95.low, difference.ci95.high) if difference.ci95 else (None, None)),
        difference.relative,
        difference.self_delta_ms,
        difference.mix_ms,
        difference.p,
        difference.q,
        sureness,
        difference.base_views_ran,
        difference.head_views_ran,
    )
