"""Unsigned integers in as few bytes as they need (LEB128: seven bits a byte, lowest first), whole columns at once."""

from typing import Final

import numpy as np
import numpy.typing as npt

IntColumn = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

MAX_BYTES: Final = 9  # 63 bits: the positive range of a signed 64-bit integer
MORE: Final = 0x80  # set in every byte of a number except its last
LOW: Final = np.uint8(MORE - 1)


def encode_varints(values: IntColumn) -> bytes:
    """Returns the bytes of numbers from 0 to 2⁶³ - 1, one after the other."""
    sizes = np.ones(values.size, dtype=np.int64)
    for number in range(1, MAX_BYTES):
        longer = values >= 1 << 7 * number
        if not longer.any():
            break
        sizes += longer
    starts = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), dtype=np.uint8)
    for number in range(int(sizes.max(initial=0))):
        has = sizes > number
        low = values[has] >> 7 * number & 0x7F
        out[starts[has] + number] = np.where(sizes[has] > number + 1, low | MORE, low)
    return out.tobytes()


def find_ends(data: Bytes) -> IntColumn:
    """Returns the end of each number: the index after its last byte.

    Raises `ValueError` if the last number is incomplete.
    """
    ends = np.flatnonzero(data < MORE) + 1
    if data.size and (not ends.size or int(ends[-1]) != data.size):
        raise ValueError("the last number is cut short")
    return ends


def decode_varints(data: Bytes, ends: IntColumn, wanted: IntColumn) -> IntColumn:
    """Returns the numbers with the indexes `wanted` among those that end at `ends`.

    Raises `ValueError` if one has more than 63 bits.
    """
    starts = np.append(0, ends)[wanted]
    sizes = ends[wanted] - starts
    if int(sizes.max(initial=0)) > MAX_BYTES:
        raise ValueError("a number of more than 63 bits")
    values: IntColumn = (data[starts] & LOW).astype(np.int64)
    longer, number = np.flatnonzero(sizes > 1), 1
    while longer.size:  # most numbers are done by now
        values[longer] |= (data[starts[longer] + number] & LOW).astype(np.int64) << 7 * number
        number += 1
        longer = longer[sizes[longer] > number]
    return values
