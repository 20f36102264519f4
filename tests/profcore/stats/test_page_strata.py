"""Pages and tags as strata: a shift of pages is no change of a function, and many pages leave enough to compare."""

from collections.abc import Sequence

import numpy as np
import pytest

from profcore.stats.comparison import Comparison, compare
from profcore.stats.standardised import ClassSums
from profcore.stats.strata import MAX_PAGE_STRATA, SEVERAL_PAGES, find_strata, text_code
from profcore.stats.views import ViewColumns, ViewSample, sample_of_times
from tests.profcore.stats.field import Matrix, sample_of_ms, skewed_ms

LOAD = 1
FUNCS = 60
SPEED = np.array([1.0, 2.0, 4.0])


def sample_of_pages(
    rng: np.random.Generator,
    views: int,
    shares: Sequence[float],
    *,
    factor: Matrix | None = None,
    navigation: bool = False,
) -> ViewSample:
    """Returns random views of pages that differ in the functions they run and in how long these take."""
    pages = len(shares)
    of_page = np.random.default_rng(pages)  # the same for all samples
    cost = of_page.lognormal(0, 1, (pages, 1)) * of_page.lognormal(0, 0.5, (pages, FUNCS))
    cost *= of_page.random((pages, FUNCS)) < 0.3
    page = rng.choice(pages, size=views, p=np.array(shares) / sum(shares))
    device = rng.choice(3, size=views, p=[0.5, 0.3, 0.2])
    ms = skewed_ms(rng, (views, FUNCS), sigma=0.7, zeros=0.2) * cost[page] * SPEED[device][:, None]
    ways = rng.choice([LOAD, LOAD + 1, LOAD + 3], size=views, p=[0.6, 0.1, 0.3]) if navigation else None
    return sample_of_ms(
        ms if factor is None else ms * factor,
        device_class=device.tolist(),
        navigation=None if ways is None else ways.tolist(),
        page=(page + 1).tolist(),
    )


def shift(shares: Sequence[float], points: float) -> list[float]:
    """Returns shares of which the first gained what the second lost."""
    return [shares[0] + points, shares[1] - points, *shares[2:]]


def zipf(pages: int) -> list[float]:
    """Returns shares of pages of which the second has half as many views as the first, and so on."""
    shares = 1 / np.arange(1, pages + 1)
    return [float(share) for share in shares / shares.sum()]


@pytest.mark.nightly
@pytest.mark.slow(20)
@pytest.mark.parametrize(("views", "pages"), [(300, 8), (300, 200), (2_000, 8), (2_000, 200)])
def test_a_shift_of_pages_alone_is_no_change(views: int, pages: int) -> None:
    shares = zipf(pages)
    points = min(0.12, shares[1] * 0.9)
    rounds = 24
    counts = {True: 0, False: 0}
    wrong = 0
    for seed in range(rounds):
        rng = np.random.default_rng([seed, views, pages])
        base, head = sample_of_pages(rng, views, shares), sample_of_pages(rng, views, shift(shares, points))
        for by_page in (True, False):
            answer = compare(base, head, by_page=by_page)
            counts[by_page] += any(function.q < 0.05 for function in answer.functions)
            if by_page:
                assert answer.overall is not None
                wrong += answer.overall.is_significant
    # Without pages as strata most of them find something. Here one in twenty may.
    assert counts[True] <= 4, counts
    assert wrong <= 4
    if views == 2_000 and pages == 8:
        assert counts[False] == rounds


@pytest.mark.nightly
@pytest.mark.slow(10)
@pytest.mark.parametrize(("views", "pages"), [(100, 20), (300, 8), (300, 50), (2_000, 200)])
def test_pages_as_strata_leave_level_power_and_coverage(views: int, pages: int) -> None:
    shares = zipf(pages)
    factor = np.ones((1, FUNCS))
    factor[0, ::4] = 1.5
    counts = {True: 0, False: 0}
    p_values: list[float] = []
    covered: list[bool] = []
    kept: list[float] = []
    for seed in range(10):
        rng = np.random.default_rng([seed, views, pages])
        base = sample_of_pages(rng, views, shares, navigation=True)
        head = sample_of_pages(rng, views, shares, factor=factor, navigation=True)
        for by_page in (True, False):
            answer = compare(base, head, by_page=by_page)
            counts[by_page] += sum(function.p < 0.01 and function.func_id % 4 == 0 for function in answer.functions)
            if by_page:
                kept.append(1 - answer.left_out_views / (2 * views))
                same = [
                    function for function in answer.functions if function.func_id % 4 and function.base_views_ran > 20
                ]
                p_values += [function.p for function in same]
                covered += [function.ci95.low <= 0 <= function.ci95.high for function in same if function.ci95]
    assert np.mean(kept) >= (0.8 if views < 300 else 0.9)
    assert counts[True] >= 0.95 * counts[False], counts
    assert 0.02 <= np.mean(np.array(p_values) < 0.05) <= 0.08
    assert np.mean(covered) >= 0.92


def columns_of(
    page: Sequence[int], *, tag: Sequence[int] | None = None, ms: Sequence[int] | None = None
) -> ViewColumns:
    count = len(page)
    us = [1_000 * time_ms for time_ms in ms] if ms is not None else [1_000] * count
    return ViewColumns.of(us, [0] * count, [1] * count, start=[LOAD] * count, page=page, tag=tag)


def strata_of(base: ViewColumns, head: ViewColumns, *, by_tag: bool = False) -> list[list[int]]:
    """Returns the pages of each stratum."""
    strata = find_strata(base, head, by_device=True, by_navigation=True, by_page=True, by_tag=by_tag)
    return [sorted(stratum.pages or ()) for stratum in strata.shared]


def test_small_pages_are_put_together_with_pages_of_like_time() -> None:
    pages = [1] * 20 + [2, 2, 3, 3, 4, 4, 5, 5]
    ms = [50] * 20 + [10, 10, 90, 90, 12, 12, 80, 80]
    both = columns_of(pages, ms=ms)
    assert strata_of(both, both) == [[1], [2, 4], [3, 5]]


def test_pages_that_one_side_lacks_are_left_out_and_counted() -> None:
    base, head = columns_of([1] * 30 + [2] * 30), columns_of([1] * 30 + [3] * 25)
    assert strata_of(base, head) == [[1]]
    answer = compare(sample_of_times(base), sample_of_times(head), by_page=True)
    assert (answer.left_out_views, answer.page_mix) == (55, ((1, 1.0),))


def test_sides_without_a_common_page_are_compared_without_pages() -> None:
    answer = compare(sample_of_times(columns_of([1] * 30)), sample_of_times(columns_of([2] * 30)), by_page=True)
    assert (answer.is_too_few, answer.left_out_views, answer.page_mix) == (False, 0, ())


def test_the_mix_of_pages_is_given_with_small_ones_together() -> None:
    pages = [1] * 20 + [2] * 12 + [3, 3, 3, 4, 4, 4, 5, 5]
    sample = sample_of_times(columns_of(pages))
    assert compare(sample, sample, by_page=True).page_mix == ((1, 0.5), (2, 0.3), (SEVERAL_PAGES, 0.2))
    assert compare(sample, sample).page_mix == ()


def test_many_pages_give_a_bounded_number_of_strata() -> None:
    rng = np.random.default_rng(1)
    count = 10_000
    columns = ViewColumns.of(
        rng.integers(1, 10**6, count).tolist(),
        [0] * count,
        rng.integers(0, 4, count).tolist(),
        start=rng.integers(1, 5, count).tolist(),
        page=rng.integers(1, 900, count).tolist(),
    )
    strata = find_strata(columns, columns, by_device=True, by_navigation=True, by_page=True)
    assert len(strata.shared) <= 2 * MAX_PAGE_STRATA
    assert min(*(column.min() for column in strata.codes)) == 0


def test_known_sums_are_those_of_pages() -> None:
    columns = columns_of([1] * 20 + [2] * 20 + [3, 4, 3, 4, 4])
    sample = sample_of_times(columns)
    sums = {1: (400, 40_000_000), 2: (100, 1_000_000), 3: (50, 500_000), 4: (50, 1_500_000), 9: (7, 7_000)}
    base = {(page, 1, LOAD): ClassSums(*class_sums) for page, class_sums in sums.items()}
    head = {**base, (1, 1, LOAD): ClassSums(400, 44_000_000)}
    comparison: Comparison = compare(sample, sample, measure="self", known=(base, head), by_page=True)
    assert comparison.overall is not None
    assert comparison.overall.delta_ms == pytest.approx(10 * 400 / 600)
    assert [page for page, _ in comparison.page_mix] == [1, 2, SEVERAL_PAGES]
    assert [share for _, share in comparison.page_mix] == pytest.approx([20 / 45, 20 / 45, 5 / 45])
    # Sums without pages say nothing about strata of pages.
    without = compare(
        sample,
        sample,
        measure="self",
        known=({(1, LOAD): ClassSums(9, 9)}, {(1, LOAD): ClassSums(9, 99)}),
        by_page=True,
    )
    assert without.overall is not None
    assert without.overall.delta_ms == 0


def test_tags_are_strata_of_their_own() -> None:
    small, large = text_code("small"), text_code("large")
    base = columns_of([1] * 60, tag=[small] * 40 + [large] * 20, ms=[10] * 40 + [90] * 20)
    head = columns_of([1] * 60, tag=[small] * 20 + [large] * 40, ms=[10] * 20 + [90] * 40)
    sides = sample_of_times(base), sample_of_times(head)
    mixed, stratified = compare(*sides, by_page=True).overall, compare(*sides, by_page=True, by_tag=True).overall
    assert mixed is not None
    assert stratified is not None
    assert (mixed.is_significant, stratified.is_significant) == (True, False)
    assert stratified.delta_ms == pytest.approx(0)
    assert len(strata_of(base, head, by_tag=True)) == 2


def test_the_code_of_a_text_is_the_same_everywhere() -> None:
    assert text_code("") == 0
    assert text_code("/product/:id") == text_code("/product/" + ":id") > 0
    assert text_code("\ud800") > 0
