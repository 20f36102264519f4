"""What the funcs of a view took, in columns: thousands of these are added up without an object per func."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from profcore.sums.blobs import IntColumn
from profcore.sums.fold import FuncSums

COLUMNS: Final = 4


class FuncTimes(NamedTuple):
    """Columns of one length, of funcs in order of their numbers; µs. Funcs that are missing took nothing."""

    func: IntColumn
    self_us: IntColumn
    total_us: IntColumn
    hidden_us: IntColumn

    @classmethod
    def of_sums(cls, sums: FuncSums) -> "FuncTimes":
        """Returns the times in the sums of a fold."""
        funcs = sorted(sums.funcs())
        columns = (sums.self_us, sums.total_us, sums.hidden_us)
        rows = [funcs, *([column.get(index, 0) for index in funcs] for column in columns)]
        return cls(*np.array(rows, dtype=np.int64))

    @classmethod
    def of_values(cls, values_us: Sequence[int]) -> "FuncTimes":
        """Returns values as self times of funcs, whose numbers are their places; zeros are left out."""
        values = np.array(values_us, dtype=np.int64)
        places = values.nonzero()[0]
        above = values[places]
        return cls(places, above, above, np.zeros(places.size, dtype=np.int64))

    @classmethod
    def of_bytes(cls, columns: bytes) -> "FuncTimes":
        """Returns the columns of the compiled kernel: little-endian, one after the other."""
        return cls(*np.frombuffer(columns, dtype="<i8").reshape(COLUMNS, -1))

    def own_time(self) -> "FuncTimes":
        """Returns self and hidden time as self time."""
        nothing = np.zeros(self.func.size, dtype=np.int64)
        return FuncTimes(self.func, self.self_us + self.hidden_us, nothing, nothing)

    def by_func(self, column: IntColumn) -> dict[int, int]:
        """Returns one of its columns by func, without zeros."""
        return {func: us for func, us in zip(self.func.tolist(), column.tolist(), strict=True) if us}


def add_up(tables: Iterable[FuncTimes]) -> FuncTimes:
    """Returns the sum of some columns."""
    func, *columns = (np.concatenate(column) for column in zip(NO_TIMES, *tables, strict=True))
    funcs, places = np.unique(func, return_inverse=True)
    sums = np.zeros((len(columns), funcs.size), dtype=np.int64)
    for into, column in zip(sums, columns, strict=True):
        np.add.at(into, places, column)
    return FuncTimes(funcs, *sums)


NO_TIMES: Final = FuncTimes(*np.zeros((COLUMNS, 0), dtype=np.int64))
