"""The blobs we store: columns of integers, small, versioned and checked when read.

Layout, little-endian: 4-byte magic (`FF`, kind, version), then zlib over: u32 row count, and per column
u32 unit (the greatest common divisor), u8 width (1, 2, 4 or 8 bytes), the values divided by the unit. Timestamps have
a resolution of 100 µs (5 µs when isolated), so the unit saves most of a byte a value.

Versions count by kind, and old ones stay readable. Contributions: 2 adds the column of hidden totals. Call trees: 1.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from profcore.calltree import CallTree

IntColumn = npt.NDArray[np.int64]

KIND_CONTRIBUTION: Final = ord("c")
KIND_CALL_TREE: Final = ord("t")
VERSIONS: Final = {KIND_CONTRIBUTION: 2, KIND_CALL_TREE: 1}  # what is written
MAX_ROWS: Final = 50_000_000  # a blob that claims more is broken, whatever its length says
_WIDTHS: Final = ((1, "<u1"), (2, "<u2"), (4, "<u4"), (8, "<u8"))
_COLUMN_HEADER: Final = struct.Struct("<IB")
_ROWS: Final = struct.Struct("<I")


class BlobError(ValueError):
    """A stored blob is not what was written: wrong magic, unknown version, or damaged."""


@dataclass(slots=True)
class Contribution:
    """What one view adds to its cell, by func: dense func ids in ascending order, µs and samples.

    A func without JS (`total_samples` 0) has hidden time alone; the view does not count as one that ran it.
    """

    func: list[int] = field(default_factory=list)
    self_us: list[int] = field(default_factory=list)
    total_us: list[int] = field(default_factory=list)
    hidden_us: list[int] = field(default_factory=list)
    self_samples: list[int] = field(default_factory=list)
    total_samples: list[int] = field(default_factory=list)
    hidden_total_us: list[int] = field(default_factory=list)

    def funcs_run(self) -> frozenset[int]:
        """Returns the funcs with JS: hidden time alone does not make a view one that ran a func."""
        return frozenset(func_id for func_id, count in zip(self.func, self.total_samples, strict=True) if count)


def encode_contribution(contribution: Contribution) -> bytes:
    """Encodes a contribution. Totals are kept as total minus self, which is small or zero for most funcs."""
    func = np.array(contribution.func, dtype=np.int64)
    if func.size > 1 and not bool(np.all(func[1:] > func[:-1])):
        raise ValueError("func ids must ascend")
    self_us = np.array(contribution.self_us, dtype=np.int64)
    hidden_us = np.array(contribution.hidden_us, dtype=np.int64)
    self_samples = np.array(contribution.self_samples, dtype=np.int64)
    return _pack(
        KIND_CONTRIBUTION,
        [
            np.diff(func, prepend=np.int64(0)),
            self_us,
            np.array(contribution.total_us, dtype=np.int64) - self_us,
            hidden_us,
            self_samples,
            np.array(contribution.total_samples, dtype=np.int64) - self_samples,
            np.array(contribution.hidden_total_us, dtype=np.int64) - hidden_us,
        ],
    )


def decode_contribution(blob: bytes) -> Contribution:
    """Decodes a contribution, of version 1 too: no hidden time was attributed then. Raises `BlobError`."""
    return Contribution(*(column.tolist() for column in decode_contribution_columns(blob)))


def decode_contribution_columns(blob: bytes) -> list[IntColumn]:
    """Decodes a contribution to arrays, in the order of its fields: for statistics over many. Raises `BlobError`."""
    columns = _unpack(KIND_CONTRIBUTION, blob, {1: 6, 2: 7})
    steps, self_us, rest_us, hidden_us, self_samples, rest_samples = columns[:6]
    hidden_total_us = hidden_us + columns[6] if len(columns) > 6 else hidden_us
    total_us, total_samples = self_us + rest_us, self_samples + rest_samples
    return [np.cumsum(steps), self_us, total_us, hidden_us, self_samples, total_samples, hidden_total_us]


def encode_call_tree(tree: CallTree) -> bytes:
    """Encodes a call tree; a prefix is kept as the distance to it, 0 for a root."""
    prefix = np.array(tree.prefix, dtype=np.int64)
    rows = np.arange(prefix.size)
    if bool(np.any(prefix >= rows)):
        raise ValueError("parents must come before children")
    distance = np.where(prefix < 0, 0, rows - prefix)
    columns: list[Sequence[int]] = [tree.func, tree.self_us, tree.self_samples, tree.hidden_us]
    return _pack(KIND_CALL_TREE, [distance, *(np.array(column, dtype=np.int64) for column in columns)])


def decode_call_tree(blob: bytes) -> CallTree:
    """Decodes a call tree. Raises `BlobError`."""
    distance, func, self_us, self_samples, hidden_us = _unpack(KIND_CALL_TREE, blob, {1: 5})
    rows = np.arange(distance.size)
    if bool(np.any((distance < 0) | (distance > rows))):
        raise BlobError("a call tree's parents do not come before their children")
    prefix = np.where(distance == 0, -1, rows - distance)
    return CallTree(prefix.tolist(), func.tolist(), self_us.tolist(), self_samples.tolist(), hidden_us.tolist())


def _pack(kind: int, columns: Sequence[IntColumn]) -> bytes:
    rows = columns[0].size
    parts = [_ROWS.pack(rows)]
    for column in columns:
        if column.size != rows:
            raise ValueError("columns must be of one length")
        unit, top = 1, 0
        if rows:
            if int(column.min()) < 0:
                raise ValueError("columns hold no negative numbers")
            unit, top = max(int(np.gcd.reduce(column)), 1), int(column.max())
        if unit > 0xFFFF_FFFF:
            unit = 1
        top //= unit
        width, dtype = next((w, d) for w, d in _WIDTHS if top < 1 << (8 * w))
        parts.append(_COLUMN_HEADER.pack(unit, width))
        parts.append((column // unit).astype(dtype).tobytes())
    return bytes((0x46, 0x46, kind, VERSIONS[kind])) + zlib.compress(b"".join(parts), 6)


def _unpack(kind: int, blob: bytes, columns_of_version: Mapping[int, int]) -> list[IntColumn]:
    head = bytes(blob[:4])
    if len(head) < 4 or head[:2] != b"FF" or head[2] != kind:
        raise BlobError("this is no blob of the wanted kind")
    if head[3] not in columns_of_version:
        raise BlobError(f"blob version {head[3]} is not known here")
    try:
        return _read_columns(_inflate(bytes(blob[4:])), columns_of_version[head[3]])
    except (zlib.error, struct.error, ValueError) as error:
        raise BlobError(f"the blob is damaged: {error}") from error


def _inflate(packed: bytes) -> bytes:
    stream = zlib.decompressobj()
    body = stream.decompress(packed)
    # `zlib.decompress` is silent about what follows the stream, such as a second blob appended by mistake.
    if not stream.eof or stream.unused_data:
        raise BlobError("cut short, or followed by more bytes")
    return body


def _read_columns(body: bytes, column_count: int) -> list[IntColumn]:
    (rows,) = _ROWS.unpack_from(body, 0)
    if rows > MAX_ROWS:
        raise BlobError("it claims too many rows")
    at = _ROWS.size
    columns: list[IntColumn] = []
    dtypes: dict[int, Any] = dict(_WIDTHS)
    for _ in range(column_count):
        unit, width = _COLUMN_HEADER.unpack_from(body, at)
        at += _COLUMN_HEADER.size
        if width not in dtypes:
            raise BlobError(f"a column of width {width}")
        values = np.frombuffer(body, dtype=dtypes[width], count=rows, offset=at)
        columns.append(values.astype(np.int64) * unit)
        at += rows * width
    if at != len(body):
        raise BlobError("bytes after the last column")
    return columns
