"""Contributions that are kept decoded are those that were stored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregate.selectors.page_views import decoded
from aggregate.selectors.page_views.decoded import COLUMNS, decode_sample
from profcore.caching import clear_caches
from profcore.sums.blobs import BlobError, Contribution, decode_contributions, encode_contribution


def make_blob(seed: int) -> bytes:
    """Returns the stored contribution of a view, that of nothing for 0."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 9)) if seed else 0
    func = sorted(rng.choice(500, count, replace=False).tolist())
    self_us, rest, hidden = ((100 * rng.integers(0, 90, count)).tolist() for _ in range(3))
    total = [one + other for one, other in zip(self_us, rest, strict=True)]
    return encode_contribution(Contribution(func, self_us, total, hidden, self_us, total, hidden, [0] * count))


def assert_decoded(blobs: list[bytes]) -> None:
    lengths, columns = decode_sample(blobs)
    expected_lengths, expected = decode_contributions(blobs, column_count=COLUMNS)
    assert np.array_equal(lengths, expected_lengths)
    assert len(columns) == COLUMNS
    for column, wanted in zip(columns, expected, strict=True):
        assert np.array_equal(column, wanted)


@given(st.lists(st.lists(st.integers(0, 12), max_size=10), max_size=5), st.sampled_from([0, 200, 10_000]))
def test_any_samples_one_after_the_other_are_decoded_as_alone(samples: list[list[int]], kept: int) -> None:
    clear_caches()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoded, "DECODED_BYTES_KEPT", kept)
        for sample in samples:
            assert_decoded([make_blob(seed) for seed in sample])


def test_only_views_that_are_not_kept_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def note(blobs: list[bytes], *, column_count: int) -> object:
        asked.append(len(blobs))
        return decode_contributions(blobs, column_count=column_count)

    monkeypatch.setattr(decoded, "decode_contributions", note)
    blobs = [make_blob(seed) for seed in range(1, 30)]
    decode_sample(blobs)
    decode_sample(blobs)
    decode_sample([*blobs[:20], make_blob(40), *blobs[20:]])
    assert asked == [29, 1]
    decode_sample(blobs, most_bytes=100)
    assert asked == [29, 1, 29]


def test_what_is_returned_may_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = [make_blob(3), make_blob(4)]
    _, columns = decode_sample(blobs)
    columns[1][:] = 7
    assert_decoded(blobs)


def test_a_damaged_contribution_is_noticed_among_kept_ones() -> None:
    blobs = [make_blob(seed) for seed in range(5)]
    decode_sample(blobs)
    with pytest.raises(BlobError):
        decode_sample([*blobs, blobs[3][:-3]])
