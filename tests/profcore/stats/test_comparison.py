"""The comparison of two samples: differences, device mix, new and gone funcs, order, and the test behind q."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from profcore.stats import standardised
from profcore.stats.comparison import compare, compare_pairs, describe_changes
from profcore.stats.joining import pair_views
from profcore.stats.ranks import RankRows, find_changes, sum_ranks
from profcore.stats.standardised import ClassSums
from profcore.stats.views import sample_of_times
from tests.profcore.stats.field import sample_of_ms, skewed_ms


def test_a_shift_of_devices_alone_is_no_change_of_a_func() -> None:
    rng = np.random.default_rng(0)
    # Slow devices take 100 ms, fast ones 10; the head has more slow ones.
    base_classes, head_classes = [1] * 80 + [2] * 20, [1] * 20 + [2] * 80
    base, head = (
        sample_of_ms(
            np.array([[{1: 10.0, 2: 100.0}[code] * rng.uniform(0.9, 1.1)] for code in classes]), device_class=classes
        )
        for classes in (base_classes, head_classes)
    )
    (function,) = compare(base, head).functions
    assert function.crude_delta_ms == pytest.approx(54, abs=2)
    assert function.delta_ms == pytest.approx(0, abs=2)
    assert function.mix_ms == pytest.approx(function.crude_delta_ms - function.delta_ms)
    assert not function.is_significant


def test_new_and_gone_funcs_are_tested_against_zeros() -> None:
    rng = np.random.default_rng(1)
    base, head = skewed_ms(rng, (60, 3), zeros=0.2), skewed_ms(rng, (60, 3), zeros=0.2)
    base[:, 0] = 0.0
    head[:, 1] = 0.0
    functions = {function.func_id: function for function in compare(sample_of_ms(base), sample_of_ms(head)).functions}
    assert [functions[func].status for func in range(3)] == ["new", "gone", "changed"]
    assert [functions[func].is_significant for func in range(3)] == [True, True, False]
    assert functions[0].relative is None
    assert functions[1].relative == pytest.approx(-1)


def test_sides_with_many_functions_are_estimated_one_after_the_other_with_equal_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    base, head = (
        replace(sample, columns=replace(sample.columns, sample_rate=rng.choice([0.1, 1.0], sample.views)))
        for sample in (
            sample_of_ms(skewed_ms(rng, (views, 3), zeros=0.3), device_class=[1, 2] * (views // 2))
            for views in (120, 160)
        )
    )
    at_once = compare(base, head)
    monkeypatch.setattr(standardised, "MOST_AT_ONCE", 0)
    assert not at_once.is_too_few
    assert compare(base, head) == at_once


def test_pages_that_are_compared_at_once_have_the_results_of_each_by_itself() -> None:
    rng = np.random.default_rng(5)
    pairs = []
    for page, views in enumerate((160, 12, 80, 120, 60)):  # the second has too few, and the third has nothing
        columns = [
            replace(
                sample_of_ms(
                    skewed_ms(rng, (views, 1)) * (page != 2), device_class=[1, 2, 3, 4] * (views // 4)
                ).columns,
                sample_rate=rng.choice([0.1, 1.0], views) if page == 3 else np.ones(views),
            )
            for _ in (0, 1)
        ]
        known = {(device, 0): ClassSums(1_000, 900_000 + device) for device in (1, 2, 3, 4)}
        sides = (sample_of_times(column) for column in columns)
        pairs.append(pair_views(*sides, known=(known, known) if page == 4 else None, by_navigation=page != 0))
    compared = compare_pairs(pairs)
    assert [comparison.is_too_few for comparison in compared] == [False, True, False, False, False]
    for pair, comparison in zip(pairs, compared, strict=True):
        changes = find_changes(*pair.whole("self+hidden"), 1, len(pair.strata.shared), is_weighted=False)
        alone = describe_changes(changes, np.array([-1]))[0] if changes else None
        assert comparison.overall == (None if comparison.is_too_few else alone)


def test_too_few_views_get_no_comparison() -> None:
    answer = compare(sample_of_ms(np.ones((19, 1))), sample_of_ms(np.ones((90, 1))))
    assert answer.is_too_few
    assert (answer.functions, answer.overall) == ((), None)
    assert (answer.base_views, answer.head_views) == (19, 90)


def test_views_of_classes_that_one_side_lacks_are_left_out_and_counted() -> None:
    base = sample_of_ms(np.ones((40, 1)), device_class=[1] * 30 + [2] * 10)
    head = sample_of_ms(np.ones((41, 1)), device_class=[1] * 40 + [2])
    assert compare(base, head).left_out_views == 11


def test_a_caller_that_surrounds_hidden_time_stands_behind_the_callee_that_was_seen() -> None:
    rng = np.random.default_rng(2)
    base_ms, head_ms = skewed_ms(rng, (60, 2)), skewed_ms(rng, (60, 2))
    base_ms[:, 0] = rng.uniform(5, 6, 60)  # the caller: its own visible time stays
    head_ms[:, 0] = rng.uniform(5, 6, 60)
    head_ms[:, 1] += 30  # the callee
    base, head = sample_of_ms(base_ms), sample_of_ms(head_ms)
    head = replace(head, hidden_us=np.where(head.func == 0, 90_000, 0))
    answer = compare(base, head)
    assert [increase.func_id for increase in answer.increases] == [1, 0]
    caller = answer.increases[1]
    assert caller.delta_ms > answer.increases[0].delta_ms
    assert (caller.is_seen, answer.increases[0].is_seen) == (False, True)
    assert [increase.func_id for increase in compare(base, head, measure="hidden").increases] == [0]


def test_weighted_views_count_by_what_they_stand_for() -> None:
    rng = np.random.default_rng(4)
    ms = np.concatenate([skewed_ms(rng, (200, 1), zeros=0.0), 5 * skewed_ms(rng, (200, 1), zeros=0.0)])
    head = sample_of_ms(ms, sample_rate=[0.1] * 200 + [1.0] * 200)
    base = sample_of_ms(np.concatenate([skewed_ms(rng, (364, 1), zeros=0.0), 5 * skewed_ms(rng, (36, 1), zeros=0.0)]))
    (function,) = compare(base, head).functions
    assert abs(function.delta_ms) < 5
    assert not function.is_significant


def test_without_strata_the_test_is_wilcoxons() -> None:
    rng = np.random.default_rng(5)
    base, head = skewed_ms(rng, (40, 30)), 1.3 * skewed_ms(rng, (70, 30))
    matrix = np.concatenate([base, head])
    view, func = np.nonzero(matrix)
    z, _ = sum_ranks(
        RankRows(
            view=view,
            func=func,
            value=matrix[view, func],
            func_count=30,
            stratum=np.zeros(110, dtype=np.int64),
            strata=[1],
            is_head=np.repeat([0, 1], [40, 70]),
            weight=np.ones(110),
        )
    ).test
    expected = stats.mannwhitneyu(head, base, method="asymptotic", use_continuity=False).pvalue
    assert 2 * stats.norm.sf(np.abs(z)) == pytest.approx(expected)


def test_p_agrees_with_random_permutations_within_strata() -> None:
    rng = np.random.default_rng(6)
    stratum = np.repeat([0, 1, 0, 1], [10, 14, 40, 30])
    is_head = np.repeat([1, 0], [24, 70])
    matrix = skewed_ms(rng, (94, 12), zeros=0.7) * (1 + 1.0 * is_head[:, None])
    view, func = np.nonzero(matrix)

    def run(sides: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[list[float], list[float]]:
        rows = RankRows(
            view=view,
            func=func,
            value=matrix[view, func],
            func_count=12,
            stratum=stratum,
            strata=[2],
            is_head=sides,
            weight=np.ones(94),
        )
        z, p = sum_ranks(rows).test
        return z.tolist(), p.tolist()

    _, p = run(is_head)
    observed = np.array(run(is_head)[0])
    above = np.zeros(12)
    rounds = 1_500
    for _ in range(rounds):
        shuffled = is_head.copy()
        for part in (0, 1):
            shuffled[stratum == part] = rng.permutation(is_head[stratum == part])
        above += np.where(
            observed > 0, np.array(run(shuffled)[0]) >= observed - 1e-9, np.array(run(shuffled)[0]) <= observed + 1e-9
        )
    assert p == pytest.approx(np.minimum(2 * above / rounds, 1), abs=0.06)


def test_device_classes_that_are_the_question_are_no_strata() -> None:
    desktops = sample_of_ms(np.full((30, 1), 10.0) + np.arange(30)[:, None] / 10, device_class=[1] * 30)
    phones = sample_of_ms(np.full((30, 1), 40.0) + np.arange(30)[:, None] / 10, device_class=[4] * 30)
    assert compare(desktops, phones).is_too_few
    comparison = compare(desktops, phones, by_device=False)
    assert (comparison.is_too_few, comparison.left_out_views, comparison.device_mix) == (False, 0, ())
    assert comparison.functions[0].is_increase
    assert comparison.functions[0].delta_ms == pytest.approx(30.0)


def test_the_mix_is_given_with_what_the_views_are_worth() -> None:
    base = sample_of_ms(np.ones((40, 1)), device_class=[1] * 30 + [2] * 10)
    head = sample_of_ms(np.ones((40, 1)), device_class=[1] * 20 + [2] * 20)
    comparison = compare(base, head)
    assert comparison.device_mix == ((1, 0.625), (2, 0.375))
    assert (comparison.is_weighted, comparison.is_complete, comparison.base_effective, comparison.head_effective) == (
        False,
        True,
        40,
        40,
    )
