"""Contributions that a process keeps decoded: a sample is asked again, and a fold changes few of its views."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from profcore.caching import keep
from profcore.stats.views import IntColumn
from profcore.sums.blobs import decode_contributions

COLUMNS: Final = 4  # func, self, total and hidden µs
# Of all contributions that are kept, decoded and packed: three samples of a busy page.
DECODED_BYTES_KEPT: Final = 12_000_000
# Larger samples would push all others out: unpacked they take about nine times as much.
SAMPLE_MAX_BYTES: Final = 600_000

Table = npt.NDArray[np.int64]  # a row for each of `COLUMNS`, a column for each func


class _Decoded:
    """Decoded contributions by their bytes, and so never out of date; those used last are at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, Table] = OrderedDict()
        self._bytes = 0

    def find(self, blobs: Sequence[bytes]) -> dict[bytes, Table]:
        """Returns those of the contributions that are kept."""
        with self._lock:
            tables = {blob: self._kept[blob] for blob in blobs if blob in self._kept}
            for blob in tables:
                self._kept.move_to_end(blob)
            return tables

    def keep(self, tables: dict[bytes, Table]) -> None:
        """Keeps contributions, and drops those that were used longest ago."""
        with self._lock:
            for blob, table in tables.items():
                if blob not in self._kept:
                    self._kept[blob] = table
                    self._bytes += len(blob) + table.nbytes
            while self._bytes > DECODED_BYTES_KEPT:
                blob, table = self._kept.popitem(last=False)
                self._bytes -= len(blob) + table.nbytes

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0


_decoded: Final = keep(_Decoded())


def decode_sample(
    blobs: Sequence[bytes], *, most_bytes: int = SAMPLE_MAX_BYTES
) -> tuple[IntColumn, Sequence[IntColumn]]:
    """Returns a sample's contributions decoded: the number of funcs of each view, and `COLUMNS` of all in order.

    Only those that are not kept are decoded; more than `most_bytes` are not kept. Raises `BlobError`.
    """
    if sum(map(len, blobs)) > most_bytes:
        return decode_contributions(blobs, column_count=COLUMNS)
    known = _decoded.find(blobs)
    if missing := [blob for blob in dict.fromkeys(blobs) if blob not in known]:
        lengths, columns = decode_contributions(missing, column_count=COLUMNS)
        whole = np.stack(columns)
        ends = np.cumsum(lengths)
        # Copies: a part of the whole would keep all of it.
        cuts = zip(missing, (ends - lengths).tolist(), ends.tolist(), strict=True)
        fresh = {blob: whole[:, start:end].copy() for blob, start, end in cuts}
        _decoded.keep(fresh)
        known |= fresh
    tables = [known[blob] for blob in blobs]
    sizes = np.array([table.shape[1] for table in tables], dtype=np.int64)
    joined = np.concatenate(tables, axis=1) if tables else np.zeros((COLUMNS, 0), dtype=np.int64)
    return sizes, list(joined)
