"""Unsigned integers in as few bytes as they need (LEB128: seven bits a byte, lowest first), whole columns at once."""

from typing import Final

import numpy as np
import numpy.typing as npt

IntColumn = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

MAX_BYTES: Final = 9  # 63 bits: the positive range of a signed 64-bit integer
MORE: Final = 0x80  # set in every byte of a number except its last
LOW: Final = np.uint8(MORE - 1)
_LONGER_FROM: Final = 1 << 7 * np.arange(1, MAX_BYTES)  # the least numbers of two bytes, of three, …


def encode_varints(values: IntColumn) -> bytes:
    """Returns the bytes of numbers from 0 to 2⁶³ - 1, one after the other."""
    left = (np.searchsorted(_LONGER_FROM, values, side="right") + 1)[:, None] - np.arange(MAX_BYTES)
    left = left[:, : int(left.max(initial=0))]  # of each number's bytes, those from here to its last one
    table = (values[:, None] >> 7 * np.arange(left.shape[1]) & LOW | (left > 1) * MORE).astype(np.uint8)
    return table[left > 0].tobytes()


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
