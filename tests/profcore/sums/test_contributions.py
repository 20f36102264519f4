"""Contributions that were never written are refused, and the funcs of one are counted without reading it whole."""

import zlib

import numpy as np
import pytest

from profcore.sums.blobs import (
    CONTRIBUTION_COLUMNS,
    BlobError,
    Contribution,
    count_funcs,
    decode_contribution,
    decode_contributions,
    encode_contribution,
)
from profcore.sums.varints import encode_varints


def contribution_body(rows: int, units: list[int], bits: bytes, numbers: bytes) -> bytes:
    """Returns a contribution with the given parts, valid or not."""
    head = encode_varints(np.array([rows, *units]))
    return MAGIC + zlib.compress(head + bits + numbers)


MAGIC = b"FFc\x05"
ONES = [1] * CONTRIBUTION_COLUMNS
MOST = bytes([0xFF] * 8 + [0x7F])  # 2⁶³ - 1


@pytest.mark.parametrize(
    ("blob", "sentence"),
    [
        (contribution_body(1, ONES, b"\0", b"\x05\x05"), "not as many numbers as bits"),
        (contribution_body(1, ONES, b"\x40", b"\x05"), "not as many numbers as bits"),
        (contribution_body(9, ONES, b"\0", b""), "more rows than it has bits for"),
        (contribution_body(1, [1, 0, *ONES[2:]], b"\0", b"\x05"), "a unit that is none"),
        (contribution_body(1, [1, 2, *ONES[2:]], b"\x40", b"\x05" + MOST), "more than 63 bits"),
        (contribution_body(1, ONES, b"\x40", b"\x05" + b"\xff" * 9 + b"\x01"), "more than 63 bits"),
        (contribution_body(1, ONES, b"\x60", b"\x05" + MOST + MOST), "more than 63 bits"),
        (contribution_body(2, ONES, b"\0\0", b"\x05\0"), "do not ascend"),
        (contribution_body(1, ONES, b"\x80", b"\x05"), "a row before the first"),
        (contribution_body(1, ONES, b"\0", b"\x85"), "cut short|not as many numbers as bits"),
        (MAGIC + zlib.compress(b"\xff" * 300_000), "more than 63 bits"),
    ],
)
def test_a_contribution_that_was_never_written_is_refused(blob: bytes, sentence: str) -> None:
    with pytest.raises(BlobError, match=sentence):
        decode_contribution(blob)
    good = encode_contribution(Contribution(*([1] for _ in range(CONTRIBUTION_COLUMNS))))
    with pytest.raises(BlobError, match=sentence):  # among others too
        decode_contributions([good, blob, good], column_count=4)


def test_what_repeats_from_function_to_function_takes_hardly_a_byte_each() -> None:
    """A call chain of forty whose last function ran in one sample, and as many functions apart."""
    none, one = [0] * 39, [1] * 40
    chain = Contribution([*range(1, 41)], [*none, 900], [900] * 40, [0] * 40, [*none, 1], one, [*none, 7], [0] * 40)
    apart = Contribution(
        [*range(1, 41)], [*none, 900], [*range(900, 940)], [0] * 40, [*none, 1], one, [*range(7, 47)], [0] * 40
    )
    sizes = [len(encode_contribution(contribution)) for contribution in (chain, apart)]
    assert [decode_contribution(encode_contribution(contribution)) for contribution in (chain, apart)] == [chain, apart]
    assert sizes[0] < 60 < sizes[1]


def test_funcs_of_contributions_of_every_size_are_counted() -> None:
    many = Contribution(*([*range(1, 36_001)] if at == 0 else [10_000 + at] * 36_000 for at in range(8)))
    assert count_funcs(encode_contribution(many)) == 36_000
    with pytest.raises(BlobError, match="damaged"):
        count_funcs(encode_contribution(many)[:4] + b"no zlib")
