"""Maps (release, func) to the table row that shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from aggregate.selectors.code.symbols import Pair, RowId


@dataclass(frozen=True, slots=True)
class RowOf:
    """The row of a table that a func is summed up in. `by_pair` has funcs whose row differs between releases."""

    by_func: Mapping[int, RowId]
    by_pair: Mapping[Pair, RowId] = field(default_factory=dict)

    @classmethod
    def of_pairs(cls, rows: Mapping[Pair, RowId]) -> "RowOf":
        """Returns the mapping for the given row of each func in each release."""
        by_func: dict[int, RowId] = {}
        split: set[int] = set()
        for (_, func_id), row_id in rows.items():
            if by_func.setdefault(func_id, row_id) != row_id:
                split.add(func_id)
        return cls(
            {func_id: row_id for func_id, row_id in by_func.items() if func_id not in split},
            {pair: row_id for pair, row_id in rows.items() if pair[1] in split},
        )

    def of(self, release: str, func_id: int) -> RowId | None:
        """Returns the row of a func in a release, None if it is in no row."""
        row_id = self.by_func.get(func_id)
        return row_id if row_id is not None else self.by_pair.get((release, func_id))
