"""Both twins read the same of stored contributions, and the kernel reads none that the pure twin refuses."""

import zlib
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.sums.blobs import CONTRIBUTION_COLUMNS, BlobError, Contribution, decode_first, encode_contribution
from profcore.sums.varints import encode_varints
from tests.profcore.strategies import contributions
from tests.profcore.twins.comparing import kernel_module, needs_kernel
from tests.properties import bounded

pytestmark = needs_kernel
MOST = 2**62
NUMBERS = st.sampled_from([0, 1, 2, 127, 128, 300, 2**31, 2**62, 2**63 - 1])


def compare_reading(blobs: Sequence[bytes], parts: Sequence[int], most: int, column_count: int) -> bool:
    """Returns whether the kernel read the contributions. Fails if what it read differs from the pure twin's."""
    kernel = kernel_module()
    is_read = kernel.decode_first(list(blobs), list(parts), most, column_count) is not None
    try:
        pure = decode_first(blobs, parts, most, column_count=column_count, kernel=None)
    except BlobError:
        assert not is_read
        return False
    compiled = decode_first(blobs, parts, most, column_count=column_count, kernel=kernel)
    for mine, other in zip([*pure[:2], *pure[2]], [*compiled[:2], *compiled[2]], strict=True):
        np.testing.assert_array_equal(mine, other)
    return is_read


@bounded(200)
@given(st.lists(st.tuples(contributions(), st.integers(0, 2)), max_size=6), st.integers(0, 20), st.integers(1, 8))
def test_contributions_of_parts_up_to_a_bound(
    kept: list[tuple[Contribution, int]], most: int, column_count: int
) -> None:
    blobs = [encode_contribution(contribution) for contribution, _ in kept]
    assert compare_reading(blobs, [part for _, part in kept], most, column_count)


@bounded(200)
@given(st.data(), st.integers(1, 8))
def test_any_bytes_at_any_place_of_a_body(data: st.DataObject, column_count: int) -> None:
    good = encode_contribution(Contribution(*([2, 7], [5, 300], [6, 300], [0, 9], [1, 1], [1, 2], [3, 9], [0, 1])))
    body = zlib.decompress(good[4:])
    start, cut = data.draw(st.integers(0, len(body))), data.draw(st.integers(0, 3))
    bad = good[:4] + zlib.compress(body[:start] + data.draw(st.binary(max_size=4)) + body[start + cut :])
    compare_reading([good, bad, good], [0, 0, 1], MOST, column_count)


@bounded(200)
@given(st.lists(NUMBERS, min_size=CONTRIBUTION_COLUMNS, max_size=CONTRIBUTION_COLUMNS), st.data())
def test_numbers_near_the_bound_in_every_column(units: list[int], data: st.DataObject) -> None:
    rows = data.draw(st.integers(0, 3))
    above = data.draw(st.lists(st.booleans(), min_size=8 * rows, max_size=8 * rows))
    count = rows + sum(above[rows:])  # a step of each row, and what the bits behind the rows' own say
    numbers = data.draw(st.lists(NUMBERS, min_size=count, max_size=count))
    head = encode_varints(np.array([rows, *units], dtype=np.int64))
    body = (
        head
        + np.packbits(np.array(above, dtype=np.bool_)).tobytes()
        + encode_varints(np.array(numbers, dtype=np.int64))
    )
    compare_reading([b"FFc\x05" + zlib.compress(body)], [0], MOST, CONTRIBUTION_COLUMNS)


@pytest.mark.parametrize(
    "bad",
    [
        lambda good: good[:-1],
        lambda good: good[:-4] + b"\0\0\0\0",
        lambda good: good + b"\0",
        lambda good: good + good[4:],
        lambda good: b"FFt\x01" + good[4:],
        lambda good: b"FFc\x04" + good[4:],
        lambda good: good[:4],
        lambda good: b"",
        lambda good: good[:4] + zlib.compress(b"\xff" * 300_000),
        lambda good: good[:4] + zlib.compress(b""),
    ],
)
def test_what_is_no_contribution_is_refused_by_both(bad: Callable[[bytes], bytes]) -> None:
    good = encode_contribution(Contribution(*([1] for _ in range(CONTRIBUTION_COLUMNS))))
    assert not compare_reading([good, bad(good)], [0, 0], MOST, 4)


def test_a_contribution_with_more_funcs_than_are_left_ends_its_part_alone() -> None:
    one, many = (encode_contribution(Contribution(*([*range(1, size + 1)] for _ in range(8)))) for size in (1, 36_000))
    for kernel in (None, kernel_module()):
        is_read, lengths, (func, *_) = decode_first(
            [one, many, one, one, one], [0, 0, 0, 1, 0], 2, column_count=4, kernel=kernel
        )
        assert (is_read.tolist(), lengths.tolist(), func.tolist()) == (
            [True, False, False, True, False],
            [1, 1],
            [1, 1],
        )
    assert compare_reading([many, many, one], [0, 1, 1], 40_000, 8)
