"""The tables of the history and their columns. `docs/history.md` explains each; names end with their unit.

Only add columns at the end, and raise `SCHEMA` with it: days that were written before keep their columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aggregate.fold.writes import HOTSPOT_SUMS
from profcore.trace.dimensions import DIMENSION_COLUMNS, DIMENSIONS
from profcore.trace.weights import MARKERS, TIME_PART_NAMES

SCHEMA: Final = max(dimension.history_schema for dimension in DIMENSIONS)

TEXT: Final = "VARCHAR"
INT: Final = "INTEGER"
BIG: Final = "BIGINT"

MARKER_COLUMNS: Final = tuple(f"marker_{marker}_us" for marker in MARKERS)
CELL_SUMS: Final = ("views", "truncated_views", "traces", *TIME_PART_NAMES, *MARKER_COLUMNS)
TREE_SUMS: Final = ("self_us", "self_samples", "hidden_us")
PLACE: Final = {"release": TEXT, "page": TEXT}
PLACE_OF_CELL: Final = ("release", "page", *DIMENSION_COLUMNS)
FIRST_DIMENSIONS: Final = {dimension.column: TEXT for dimension in DIMENSIONS if dimension.history_schema == 1}
ADDED_DIMENSIONS: Final = {dimension.column: TEXT for dimension in DIMENSIONS if dimension.history_schema > 1}


@dataclass(frozen=True, slots=True, eq=False)
class HistoryTable:
    """A table: the types of its columns, the columns that it is sorted by, and those that are summed to check it."""

    name: str
    columns: Mapping[str, str]
    order: tuple[str, ...]
    sums: tuple[str, ...]

    @property
    def file_name(self) -> str:
        """The name of the file in the folder of a day."""
        return f"{self.name}.parquet"


CELLS: Final = HistoryTable(
    "cells",
    {**PLACE, **FIRST_DIMENSIONS, "fold_version": INT, **dict.fromkeys(CELL_SUMS, BIG), **ADDED_DIMENSIONS},
    order=("page", "release", *DIMENSION_COLUMNS),
    sums=CELL_SUMS,
)
HOTSPOTS: Final = HistoryTable(
    "hotspots",
    {
        **{**PLACE, **FIRST_DIMENSIONS, "function_id": TEXT, "label": TEXT, "func_id": INT},
        **{**dict.fromkeys(HOTSPOT_SUMS, BIG), **ADDED_DIMENSIONS},
    },
    order=("page", "release", *DIMENSION_COLUMNS, "func_id"),
    sums=HOTSPOT_SUMS,
)
CALL_NODES: Final = HistoryTable(
    "call_nodes",
    {
        **PLACE,
        **{"node_key": BIG, "parent_key": BIG, "depth": INT},
        **{"function_id": TEXT, "label": TEXT, "func_id": INT},
        **{"self_us": BIG, "total_us": BIG, "self_samples": BIG, "hidden_us": BIG},
    },
    order=("page", "release", "depth", "node_key"),
    sums=TREE_SUMS,
)
FUNCTIONS: Final = HistoryTable(
    "functions",
    {
        **{"release": TEXT, "func_id": INT, "function_id": TEXT, "label": TEXT},
        **{"name": TEXT, "uri": TEXT, "line": BIG, "column_number": BIG},
        **{"original_name": TEXT, "original_source": TEXT, "original_line": INT, "original_column": INT},
        **{"package": TEXT, "category": TEXT},
    },
    order=("release", "func_id"),
    sums=(),
)
TABLES: Final = (CELLS, HOTSPOTS, CALL_NODES, FUNCTIONS)
