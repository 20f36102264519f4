"""Uniform samples of views are the same everywhere, and uniform."""

from uuid import UUID

from profcore.stats.sampling import LAST_KEY, bound_of_sample, sample_key


def test_keys_of_views_never_change() -> None:
    # An index is built on them, and samples are compared across releases: another hash would mix two samples.
    assert sample_key(UUID(int=1)) == 8952255631054521211
    assert all(0 <= sample_key(UUID(int=number)) <= LAST_KEY for number in range(1_000))


def test_the_uniform_sample_is_uniform_over_ids_that_are_not() -> None:
    ids = [UUID(int=number) for number in range(20_000)]
    chosen = sorted(ids, key=sample_key)[:2_000]
    upper_half = sum(view_id.int >= 10_000 for view_id in chosen)
    assert 900 < upper_half < 1_100


def test_enough_views_lie_up_to_the_bound_of_a_sample_and_not_many_more() -> None:
    for block in range(20):
        keys = [sample_key(UUID(int=number)) for number in range(block * 10_000, (block + 1) * 10_000)]
        below = sum(key <= bound_of_sample(500, 10_000) for key in keys)
        assert 500 <= below < 900


def test_where_all_views_are_wanted_no_key_is_beyond_the_bound() -> None:
    assert bound_of_sample(500, 500) == bound_of_sample(3, 4) == LAST_KEY
