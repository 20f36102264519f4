"""The stored blobs: columns of integers, small, versioned, and checked when read.

Layout, little-endian: 4-byte magic (`FF`, kind, version), then zlib over the columns. In call trees: u32 row count, and
per column u32 unit (the greatest common divisor), u8 width (1, 2, 4 or 8 bytes), the values divided by the unit.
Timestamps have a resolution of 100 µs (5 µs when isolated), so the unit saves most of a byte per value.

In contributions: the row count and each column's unit as varints; a bit for each row and for each value of seven
columns; the steps between func ids; of each of the seven columns the values above zero, divided by its unit; all as
varints. What repeats is left out:
- A row's bit says that its totals are those of the row before, as for functions of one call chain. Its totals are 0.
- Other totals are kept as what they have more than self.
- One sample is the usual number where there is time, none where there is none. So where there is time, 0 and 1 samples
  change places.

zlib packs contributions by its fixed code: they have a few hundred bytes, which codes of their own, for a third of the
time of reading them, make no smaller.
"""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import compress, pairwise
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from profcore.sums.calltree import CallTree, merge_call_trees
from profcore.sums.varints import decode_varints, encode_varints, find_ends

IntColumn = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

KIND_CONTRIBUTION: Final = ord("c")
KIND_CALL_TREE: Final = ord("t")
VERSIONS: Final = {KIND_CONTRIBUTION: 5, KIND_CALL_TREE: 1}
MAX_ROWS: Final = 50_000_000  # a blob that claims more is damaged, whatever its length
MAX_BODY_BYTES: Final = 2**30  # expanded; as above
_WIDTHS: Final = ((1, "<u1"), (2, "<u2"), (4, "<u4"), (8, "<u8"))
_COLUMN_HEADER: Final = struct.Struct("<IB")
_ROWS: Final = struct.Struct("<I")
CONTRIBUTION_COLUMNS: Final = 8
# Of the columns of a contribution: totals with the self that they include, and samples with their time.
TOTALS: Final = ((2, 1), (5, 4), (6, 3))
SAMPLES_OF: Final = ((4, 1), (5, 2))
TREE_COLUMNS: Final = 5
_PEEKED: Final = 256  # bytes that hold the number of rows, packed or not: more than the tables of a deflate block


class TreeColumns(NamedTuple):
    """Several call trees in the columns of `CallTree`. `prefix` counts from the first row of the first tree."""

    prefix: IntColumn
    func: IntColumn
    self_us: IntColumn
    self_samples: IntColumn
    hidden_us: IntColumn


class BlobError(ValueError):
    """A stored blob cannot be read: wrong magic, unknown version, or damaged."""


@dataclass(slots=True)
class Contribution:
    """The sums that one view adds to its cell, by func: dense func ids in ascending order, µs and samples.

    A func without JS (`total_samples` 0) has only hidden time; the view does not count as one that ran it. Uncertain
    time is not part of hidden time.
    """

    func: list[int] = field(default_factory=list)
    self_us: list[int] = field(default_factory=list)
    total_us: list[int] = field(default_factory=list)
    hidden_us: list[int] = field(default_factory=list)
    self_samples: list[int] = field(default_factory=list)
    total_samples: list[int] = field(default_factory=list)
    hidden_total_us: list[int] = field(default_factory=list)
    uncertain_us: list[int] = field(default_factory=list)

    def funcs_run(self) -> frozenset[int]:
        """Returns the funcs with JS time. A func with only hidden time does not count as run."""
        return frozenset(func_id for func_id, count in zip(self.func, self.total_samples, strict=True) if count)


def encode_contribution(contribution: Contribution) -> bytes:
    """Encodes a contribution."""
    columns = _columns_of(contribution)
    count = len(contribution.func)
    if any(len(column) != count for column in columns):
        raise ValueError("columns must be of one length")
    table = np.array(columns, dtype=np.int64)
    totals = table[[whole for whole, _ in TOTALS]]
    table[0, 1:] -= table[0, :-1].copy()
    if count > 1 and int(table[0, 1:].min()) < 1:
        raise ValueError("func ids must ascend")
    for whole, part in TOTALS:
        table[whole] -= table[part]
    if count and int(table.min()) < 0:
        raise ValueError("columns hold no negative numbers")
    is_like_last = np.zeros(count, dtype=np.bool_)
    is_like_last[1:] = np.all(totals[:, 1:] == totals[:, :-1], axis=0)
    for whole, _ in TOTALS:
        table[whole, is_like_last] = 0
    for samples, us in SAMPLES_OF:
        _swap_samples(table[samples], table[us])
    units = np.maximum(np.gcd.reduce(table, axis=1), 1)
    table //= units[:, None]
    above = table[1:] > 0
    head = encode_varints(np.append(count, units))
    bits = np.packbits(np.concatenate([is_like_last, above.reshape(-1)]))
    body = head + bits.tobytes() + encode_varints(np.concatenate([table[0], table[1:][above]]))
    packer = zlib.compressobj(9, strategy=zlib.Z_FIXED)
    return _magic(KIND_CONTRIBUTION) + packer.compress(body) + packer.flush()


def _swap_samples(samples: IntColumn, us: IntColumn) -> None:
    """Lets 0 and 1 samples change places where there is time, and back."""
    samples[(us > 0) & (samples < 2)] ^= 1


def _columns_of(contribution: Contribution) -> list[list[int]]:
    return [getattr(contribution, column.name) for column in fields(contribution)]


def decode_contribution(blob: bytes) -> Contribution:
    """Decodes a contribution. Raises `BlobError`."""
    return decode_contribution_list([blob])[0]


def decode_contribution_list(blobs: Sequence[bytes]) -> list[Contribution]:
    """Decodes many contributions at once, for a fifth of the cost of one by one. Raises `BlobError`."""
    lengths, columns = decode_contributions(blobs)
    ends = np.cumsum(lengths).tolist()
    lists = [column.tolist() for column in columns]
    return [Contribution(*(column[start:end] for column in lists)) for start, end in pairwise([0, *ends])]


def count_funcs(blob: bytes) -> int:
    """Returns the number of funcs that a contribution says it has, from its first bytes. Raises `BlobError`.

    Packed bytes do not tell it: 36,000 funcs with equal times take 200 bytes.
    """
    try:
        head = zlib.decompressobj().decompress(blob[4 : 4 + _PEEKED], _PEEKED)
        return _read_head(head, 0)[0][0]
    except zlib.error as error:
        raise BlobError(f"the blob is damaged: {error}") from error


def decode_first(
    blobs: Sequence[bytes], parts: Sequence[int], most: int, *, column_count: int, kernel: ModuleType | None
) -> tuple[Flags, IntColumn, list[IntColumn]]:
    """Decodes the first contributions of each part, as many as have at most `most` funcs together.

    Returns which were decoded, and of these what `decode_contributions` returns. `parts` has the part of each blob. The
    compiled kernel, if there is one, expands each blob once. Raises `BlobError`.
    """
    if kernel is not None and (read := kernel.decode_first(blobs, parts, most, column_count)) is not None:
        is_read, lengths, columns = read
        return (
            np.frombuffer(is_read, dtype=np.bool_),
            np.frombuffer(lengths, dtype="<i8"),
            [np.frombuffer(column, dtype="<i8") for column in columns],
        )
    left = dict.fromkeys(parts, most)
    decoded: list[bool] = []
    for blob, part in zip(blobs, parts, strict=True):
        if left[part] >= 0:
            left[part] -= count_funcs(blob)
        decoded.append(left[part] >= 0)
    return np.array(decoded, dtype=np.bool_), *decode_contributions(
        [*compress(blobs, decoded)], column_count=column_count
    )


def decode_contributions(
    blobs: Sequence[bytes], *, column_count: int = CONTRIBUTION_COLUMNS
) -> tuple[IntColumn, list[IntColumn]]:
    """Decodes contributions to arrays: the number of funcs of each blob, and the columns of all blobs in order.

    The columns are the first `column_count` of `Contribution`'s fields. Raises `BlobError`.
    """
    try:
        bodies = [_open(KIND_CONTRIBUTION, blob) for blob in blobs]
        lengths, is_like_last, columns = _read_packed(bodies, column_count)
    except (zlib.error, IndexError, OverflowError, ValueError) as error:
        raise error if isinstance(error, BlobError) else BlobError(f"the blob is damaged: {error}") from error
    before = np.cumsum(lengths) - lengths
    first_rows = before[lengths > 0]
    run = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(columns[0])])
    steps, columns[0] = columns[0], run[1:] - np.repeat(run[before], lengths)
    steps[first_rows] = 1  # a blob's first func may be 0
    for samples, us in SAMPLES_OF:
        if samples < column_count:
            _swap_samples(columns[samples], columns[us])
    own_totals = np.maximum.accumulate(np.where(is_like_last, 0, np.arange(steps.size)))
    for whole, part in TOTALS:
        if whole < column_count:
            columns[whole] = (columns[whole] + columns[part])[own_totals]
    if np.any(is_like_last[first_rows]):
        raise BlobError("totals like those of a row before the first")
    if steps.size and (int(steps.min()) < 1 or any(int(column.min()) < 0 for column in columns)):
        raise BlobError("funcs that do not ascend, or a sum of more than 63 bits")
    return lengths, columns


def _read_packed(bodies: Sequence[bytes], column_count: int) -> tuple[IntColumn, Flags, list[IntColumn]]:
    """Reads the bodies: the number of rows of each, then in order the bit of each row and the first columns."""
    heads = [_read_head(body, CONTRIBUTION_COLUMNS) for body in bodies]
    rows = np.array([head[0][0] for head in heads], dtype=np.int64)
    units = np.array([head[0][1:] for head in heads], dtype=np.int64).reshape(-1, CONTRIBUTION_COLUMNS)
    bit_bytes = rows * (CONTRIBUTION_COLUMNS // 8)
    cuts = [(at, at + size) for (_, at), size in zip(heads, bit_bytes.tolist(), strict=True)]
    if any(end > len(body) for body, (_, end) in zip(bodies, cuts, strict=True)):
        raise BlobError("it claims more rows than it has bits for")
    bits = b"".join([body[start:end] for body, (start, end) in zip(bodies, cuts, strict=True)])
    data = np.frombuffer(b"".join([body[end:] for body, (_, end) in zip(bodies, cuts, strict=True)]), dtype=np.uint8)
    is_above = np.unpackbits(np.frombuffer(bits, dtype=np.uint8)).view(np.bool_)
    first_bit, first_row = 8 * (np.cumsum(bit_bytes) - bit_bytes), np.cumsum(rows) - rows
    own_bits = np.repeat(first_bit - first_row, rows) + np.arange(int(rows.sum()))
    is_like_last = is_above[own_bits]
    is_above[own_bits] = True  # these bits stand where those of the steps would, of which each is there
    above = np.flatnonzero(is_above)
    first = np.searchsorted(above, first_bit)
    counts = np.diff(first, append=above.size)
    ends = find_ends(data)
    sizes = np.array([len(body) - end for body, (_, end) in zip(bodies, cuts, strict=True)], dtype=np.int64)
    # Each body has as many numbers as steps and set bits, none after its last value, and ends with its last number.
    if ends.size != above.size or not np.array_equal(np.append(0, ends)[first + counts], np.cumsum(sizes)):
        raise BlobError("not as many numbers as bits")
    # In each body, the bits of a column are contiguous, and the wanted columns' numbers come first.
    edges = np.searchsorted(above, first_bit[:, None] + rows[:, None] * np.arange(CONTRIBUTION_COLUMNS + 1))
    runs = np.diff(edges[:, : column_count + 1]).reshape(-1)
    skipped = edges[:, :column_count].reshape(-1) - (np.cumsum(runs) - runs)
    wanted = np.arange(int(runs.sum())) + np.repeat(skipped, runs)
    numbers, unit = decode_varints(data, ends, wanted), np.repeat(units[:, :column_count].reshape(-1), runs)
    if numbers.size and int(numbers.max()) * int(unit.max()) >= 1 << 63 and np.any(numbers > (2**63 - 1) // unit):
        raise BlobError("a number of more than 63 bits")
    total = int(rows.sum())
    moved = (first_row - first_bit)[:, None] + (total - rows)[:, None] * np.arange(column_count)
    table = np.zeros(column_count * total, dtype=np.int64)
    table[above[wanted] + np.repeat(moved.reshape(-1), runs)] = numbers * unit
    return rows, is_like_last, list(table.reshape(column_count, total))


def _read_head(body: bytes, unit_count: int) -> tuple[list[int], int]:
    """Returns the row count and the first `unit_count` units of a body, and the index after them."""
    numbers: list[int] = []
    number = shift = 0
    for at, byte in enumerate(body):
        if shift > 63:
            raise BlobError("a number of more than 63 bits in its head")
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if number > MAX_ROWS if not numbers else not 0 < number < 2**63:
                raise BlobError("it claims too many rows" if not numbers else "a unit that is none")
            numbers.append(number)
            number = shift = 0
            if len(numbers) == 1 + unit_count:
                return numbers, at + 1
    raise BlobError("cut short in its head")


def encode_call_tree(tree: CallTree) -> bytes:
    """Encodes a call tree. A prefix is stored as the distance to it, 0 for a root."""
    prefix = np.array(tree.prefix, dtype=np.int64)
    rows = np.arange(prefix.size)
    if bool(np.any(prefix >= rows)):
        raise ValueError("parents must come before children")
    distance = np.where(prefix < 0, 0, rows - prefix)
    columns: list[Sequence[int]] = [tree.func, tree.self_us, tree.self_samples, tree.hidden_us]
    return _pack([distance, *(np.array(column, dtype=np.int64) for column in columns)])


class EncodedTree(NamedTuple):
    """An encoded call tree, and the number of its nodes."""

    nodes: int
    blob: bytes

    def tree(self) -> CallTree:
        """Returns the tree."""
        return decode_call_tree(self.blob)


def encode_counted(tree: CallTree) -> EncodedTree:
    """Encodes a call tree, and keeps the number of its nodes."""
    return EncodedTree(len(tree), encode_call_tree(tree))


def merge_encoded(trees: Sequence[EncodedTree]) -> EncodedTree:
    """Returns the sum of encoded call trees. A single one is merged already; again would cost as much as folding."""
    if len(trees) == 1:
        return trees[0]
    return encode_counted(merge_call_trees([encoded.tree() for encoded in trees]))


def decode_call_tree(blob: bytes) -> CallTree:
    """Decodes a call tree. Raises `BlobError`."""
    return CallTree(*(column.tolist() for column in decode_call_trees([blob])))


def decode_call_trees(blobs: Sequence[bytes]) -> TreeColumns:
    """Decodes call trees to columns, in order: many at once cost half as much. Raises `BlobError`."""
    lengths, (distance, *columns) = _read_trees(blobs)
    at = np.arange(distance.size)
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    if bool(np.any((distance < 0) | (distance > at - first))):
        raise BlobError("a call tree's parents do not come before their children")
    return TreeColumns(np.where(distance == 0, -1, at - distance), *columns)


def _pack(columns: Sequence[IntColumn]) -> bytes:
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
    return _magic(KIND_CALL_TREE) + zlib.compress(b"".join(parts), 6)


def _magic(kind: int) -> bytes:
    return bytes((0x46, 0x46, kind, VERSIONS[kind]))


def _open(kind: int, blob: bytes) -> bytes:
    """Returns the body of a blob. Raises `BlobError`, or what zlib raises."""
    head = bytes(blob[:4])
    if len(head) < 4 or head[:2] != b"FF" or head[2] != kind:
        raise BlobError("this is not a blob of the expected kind")
    if head[3] != VERSIONS[kind]:
        raise BlobError(f"blob version {head[3]} is not known")
    return _inflate(bytes(blob[4:]))


def _read_trees(blobs: Sequence[bytes]) -> tuple[IntColumn, list[IntColumn]]:
    """Returns the number of rows of each call tree, and the columns of all trees in order."""
    try:
        return _read_columns([_open(KIND_CALL_TREE, blob) for blob in blobs], TREE_COLUMNS)
    except (zlib.error, struct.error, ValueError) as error:
        raise error if isinstance(error, BlobError) else BlobError(f"the blob is damaged: {error}") from error


def _inflate(packed: bytes) -> bytes:
    stream = zlib.decompressobj()
    body = stream.decompress(packed, MAX_BODY_BYTES)
    # `zlib.decompress` ignores bytes after the stream, such as a second blob appended by mistake.
    if not stream.eof or stream.unused_data:
        raise BlobError("cut short, followed by more bytes, or too large")
    return body


def _read_columns(bodies: Sequence[bytes], column_count: int) -> tuple[IntColumn, list[IntColumn]]:
    rows = [_count_rows(body, column_count) for body in bodies]
    columns = [np.empty(sum(rows), dtype=np.int64) for _ in range(column_count)]
    dtypes: dict[int, Any] = dict(_WIDTHS)
    start = 0
    for body, count in zip(bodies, rows, strict=True):
        at = _ROWS.size
        for column in columns:
            unit, width = _COLUMN_HEADER.unpack_from(body, at)
            at += _COLUMN_HEADER.size
            if width not in dtypes:
                raise BlobError(f"a column of width {width}")
            part = column[start : start + count]
            part[:] = np.frombuffer(body, dtype=dtypes[width], count=count, offset=at)
            if unit != 1:
                part *= unit
            at += count * width
        if at != len(body):
            raise BlobError("bytes after the last column")
        start += count
    return np.array(rows, dtype=np.int64), columns


def _count_rows(body: bytes, column_count: int) -> int:
    (rows,) = _ROWS.unpack_from(body, 0)
    if rows > MAX_ROWS:
        raise BlobError("it claims too many rows")
    if rows * column_count > len(body):
        raise BlobError("it claims more rows than it has bytes for")
    return int(rows)
