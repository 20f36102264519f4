"""Samples of views equal their contributions, however they were built, grouped or chosen."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from profcore.stats.joining import join_rare, split_views
from profcore.stats.views import (
    NoTotalsError,
    ViewColumns,
    ViewSample,
    align,
    group_funcs,
    number_anew,
    order_rows,
    pick_funcs,
    sample_of,
    sample_of_columns,
    sort_values,
)
from profcore.sums.blobs import Contribution, decode_contributions, encode_contribution
from tests.profcore.stats.field import make_contribution, sample_of_ms


def three_views() -> tuple[list[Contribution], ViewColumns]:
    """Two views with funcs 3, 7 and 9, and one that ran nothing."""
    first = make_contribution([3, 7], [1_000, 2_000], [3_000, 2_000], [500, 0], [1, 2], [3, 2])
    second = make_contribution([7, 9], [4_000, 0], [4_000, 4_000], [0, 700], [4, 0], [4, 4])
    return [first, Contribution(), second], ViewColumns.of([3_000, 0, 4_000], [500, 0, 900], [1, 1, 2])


def cells(sample: ViewSample, column: str) -> dict[tuple[int, int], int]:
    """Returns a column by (view, func id)."""
    ids = sample.func_ids[sample.func].tolist()
    return dict(zip(zip(sample.view.tolist(), ids, strict=True), getattr(sample, column).tolist(), strict=True))


def test_a_sample_has_a_row_for_each_func_of_a_view_and_counts_empty_views() -> None:
    contributions, columns = three_views()
    sample = sample_of(contributions, columns)
    assert sample.views == sample.population == 3
    assert cells(sample, "self_us") == {(0, 3): 1_000, (0, 7): 2_000, (2, 7): 4_000, (2, 9): 0}
    assert cells(sample, "hidden_us") == {(0, 3): 500, (0, 7): 0, (2, 7): 0, (2, 9): 700}


def test_funcs_beyond_the_most_are_one() -> None:
    sample = sample_of(*three_views())
    assert join_rare([sample], most=3, rest=0) == [sample]
    for joined in join_rare([sample, sample], most=1, rest=0):
        assert cells(joined, "self_us") == {(0, 0): 1_000, (0, 7): 2_000, (2, 0): 0, (2, 7): 4_000}
        assert cells(joined, "hidden_us") == {(0, 0): 500, (0, 7): 0, (2, 0): 700, (2, 7): 0}
        assert cells(joined, "total_us") == {(0, 0): 3_000, (0, 7): 2_000, (2, 0): 4_000, (2, 7): 4_000}


def test_stored_blobs_make_the_same_sample() -> None:
    contributions, columns = three_views()
    decoded = decode_contributions(
        [encode_contribution(contribution) for contribution in contributions], column_count=4
    )
    from_blobs = sample_of_columns(*decoded, columns, population=40)
    from_values = sample_of(contributions, columns)
    assert from_blobs.population == 40
    for column in ("self_us", "total_us", "hidden_us"):
        assert cells(from_blobs, column) == cells(from_values, column)


def test_one_function_is_picked_by_the_release_of_each_view() -> None:
    contributions, columns = three_views()
    sample = sample_of(contributions, replace(columns, release=("1", "1", "2")))
    picked = pick_funcs(sample, {("1", 3), ("2", 7), ("9", 9)})
    assert picked.views == 3
    assert cells(picked, "self_us") == {(0, 0): 1_000, (2, 0): 4_000}
    assert cells(picked, "total_us") == {(0, 0): 3_000, (2, 0): 4_000}
    everywhere = pick_funcs(sample_of(contributions, columns), {(None, 7), (None, 404)})
    assert cells(everywhere, "self_us") == {(0, 0): 2_000, (2, 0): 4_000}
    nothing = pick_funcs(sample, {("3", 3)})
    assert (nothing.views, cells(nothing, "self_us")) == (3, {})


def test_two_copies_in_a_view_have_no_total_together() -> None:
    picked = pick_funcs(sample_of(*three_views()), {(None, 3), (None, 7)})
    assert cells(picked, "self_us") == {(0, 0): 3_000, (2, 0): 4_000}
    with pytest.raises(NoTotalsError):
        picked.row_us("total")


def test_groups_sum_self_and_hidden_by_view() -> None:
    sample = group_funcs(sample_of(*three_views()), [100, 100, 200])
    assert cells(sample, "self_us") == {(0, 100): 3_000, (2, 100): 4_000, (2, 200): 0}
    assert cells(sample, "hidden_us") == {(0, 100): 500, (2, 100): 0, (2, 200): 700}


def test_totals_of_a_group_are_refused_unless_they_are_given() -> None:
    sample = sample_of(*three_views())
    with pytest.raises(NoTotalsError):
        group_funcs(sample, [100, 100, 200]).row_us("total")
    given_totals = (np.array([0, 1, 2]), np.array([100, 200, 200]), np.array([3_000, 9, 4_000]))
    grouped = group_funcs(sample, [100, 100, 200], totals=given_totals)
    assert cells(grouped, "total_us") == {(0, 100): 3_000, (1, 200): 9, (2, 100): 0, (2, 200): 4_000}
    assert sum(cells(grouped, "self_us").values()) == 7_000


def test_renaming_funcs_keeps_their_totals() -> None:
    renamed = group_funcs(sample_of(*three_views()), [30, 20, 10])
    assert cells(renamed, "total_us") == {(0, 30): 3_000, (0, 20): 2_000, (2, 20): 4_000, (2, 10): 4_000}
    assert renamed.row_us("total").sum() == 13_000


def test_funcs_that_are_numbered_anew_are_one_once_they_are_grouped() -> None:
    anew = number_anew(sample_of(*three_views()), [2, 2, 0], 4)
    assert anew.func_ids.tolist() == [0, 1, 2, 3]
    grouped = group_funcs(anew, anew.func_ids, known_totals_alone=True)
    assert cells(grouped, "self_us") == {(0, 2): 3_000, (2, 2): 4_000, (2, 0): 0}
    assert cells(grouped, "total_us") == {(0, 2): 0, (2, 2): 0, (2, 0): 4_000}


def test_aligned_samples_have_one_list_of_funcs() -> None:
    contributions, columns = three_views()
    whole = sample_of(contributions, columns)
    part = sample_of([make_contribution([8, 9], [1, 2], [1, 2], [0, 0], [1, 1], [1, 1])], ViewColumns.of([3], [0], [1]))
    first, second = align(whole, part)
    assert first.func_ids.tolist() == second.func_ids.tolist() == [3, 7, 8, 9]
    assert cells(first, "self_us") == cells(whole, "self_us")
    assert cells(second, "self_us") == {(0, 8): 1, (0, 9): 2}


def test_columns_of_unequal_length_and_impossible_rates_are_refused() -> None:
    with pytest.raises(ValueError, match="the same length"):
        ViewColumns.of([1], [1, 2], [1])
    with pytest.raises(ValueError, match="sample rate"):
        ViewColumns.of([1], [1], [1], [0.0])
    with pytest.raises(ValueError, match="the number of contributions must equal"):
        sample_of([], ViewColumns.of([1], [1], [1]))


def test_a_slice_without_views_makes_an_empty_sample() -> None:
    sample = sample_of([], ViewColumns.of([], [], []))
    assert (sample.views, sample.func_count) == (0, 0)


def test_folding_does_not_load_scipy() -> None:
    code = "import sys, profcore.sums.fold, profcore.sums.blobs; sys.exit('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=False, timeout=60)
    assert done.returncode == 0


@pytest.mark.parametrize("scale", [1.0, 1 / 3, 1e12])
def test_rows_are_ordered_by_key_and_value_however_fine_or_large_the_values(scale: float) -> None:
    rng = np.random.default_rng(0)
    key, value = rng.integers(0, 7, 300), rng.integers(0, 50_000, 300) / 1_000 * scale
    order = order_rows(key, value)
    expected = sorted(zip(key.tolist(), value.tolist(), strict=True))
    assert list(zip(key[order].tolist(), value[order].tolist(), strict=True)) == expected


@pytest.mark.parametrize("top_us", [30, 2**40])
@pytest.mark.parametrize("step_ms", [0.001, 0.0003])
def test_values_sorted_by_key_are_those_in_the_order_of_rows(top_us: int, step_ms: float) -> None:
    rng = np.random.default_rng(5)
    key = rng.integers(0, 40, 3_000)
    value = (rng.integers(0, top_us, 3_000) * step_ms).astype(np.float64)
    assert np.array_equal(sort_values(key, value), value[np.lexsort((value, key))])
    assert np.array_equal(sort_values(key, value), value[order_rows(key, value)])
    assert sort_values(key[:0], value[:0]).size == 0


def test_the_views_of_all_parts_are_those_of_each_by_itself() -> None:
    ms = [[1, 0, 2], [0, 3, 0], [0, 0, 0], [4, 5, 6], [0, 7, 0]]
    whole, part = sample_of_ms(ms), np.array([0, 0, 2, 2, 2])
    parts = split_views(whole, part, 4)
    assert [found.views for found in parts] == [found.population for found in parts] == [2, 0, 3, 0]
    for number, found in enumerate(parts):
        alone = sample_of_ms(np.array(ms)[part == number].reshape(-1, 3))
        assert found.columns.js_us.tolist() == alone.columns.js_us.tolist()
        rows = [*zip(found.view.tolist(), found.func_ids[found.func].tolist(), found.self_us.tolist(), strict=True)]
        own = [*zip(alone.view.tolist(), alone.func_ids[alone.func].tolist(), alone.self_us.tolist(), strict=True)]
        assert rows == own
