"""The order of increases: hidden culprits before innocent ones, and callers behind the callee that was seen."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pytest

from profcore.stats.comparison import Comparison, compare
from profcore.stats.culprits import find_callers
from profcore.stats.views import ViewSample
from tests.profcore.stats.field import sample_of_ms, skewed_ms

MAIN, CULPRIT, INNOCENT, LEAF = range(4)
#        0  1        2         3
PREFIX = [-1, 0, 0, 1]
FUNC = [MAIN, CULPRIT, INNOCENT, LEAF]
Times = tuple[Sequence[float], Sequence[float]]


def sample_of_hidden(
    rng: np.random.Generator, *, visible_ms: Sequence[float], hidden_ms: Sequence[float]
) -> ViewSample:
    """Returns 60 views of `MAIN` and the others, with mean visible and hidden times by func."""
    ms = skewed_ms(rng, (60, len(visible_ms)), sigma=0.3, zeros=0.0, mean_ms=1.0) * np.array(visible_ms)
    sample = sample_of_ms(ms)
    drawn = rng.lognormal(-0.045, 0.3, sample.func.size) * np.array(hidden_ms)[sample.func]
    return replace(sample, hidden_us=np.rint(drawn * 1_000).astype(np.int64))


def compare_sides(seed: int, before: Times, after: Times, *, with_tree: bool) -> Comparison:
    rng = np.random.default_rng(seed)
    base, head = (sample_of_hidden(rng, visible_ms=visible, hidden_ms=hidden) for visible, hidden in (before, after))

    def find(hidden: Collection[int], seen: Collection[int]) -> set[int]:
        numbers = {func: (func,) for func in FUNC}
        return find_callers(PREFIX, FUNC, [10] * len(FUNC), numbers, hidden=hidden, seen=seen)

    return compare(base, head, find_callers=find if with_tree else None)


def test_a_culprit_that_is_itself_hidden_comes_before_a_visible_innocent_one() -> None:
    # 200 ms more, and 2 of them are seen in the mean; beside it another func takes 10 ms more.
    before = ([20, 20, 20, 1], [0, 5, 0, 0])
    after = ([20, 22, 30, 1], [0, 203, 0, 0])
    firsts = {with_tree: [0, 0] for with_tree in (True, False)}
    for seed in range(32):
        for with_tree, counts in firsts.items():
            first, second = compare_sides(seed, before, after, with_tree=with_tree).increases[:2]
            assert {first.func_id, second.func_id} == {CULPRIT, INNOCENT}
            counts[0] += first.func_id == CULPRIT
    assert firsts[True][0] == 32
    assert firsts[False][0] < 32  # the tree decides


def test_a_caller_whose_hidden_time_rose_comes_behind_the_callee_that_was_seen() -> None:
    before = ([20, 20, 20, 5], [0, 5, 0, 0])
    after = ([20, 22, 20, 45], [0, 105, 0, 2])
    for seed in range(16):
        first, second = compare_sides(seed, before, after, with_tree=True).increases[:2]
        assert (first.func_id, first.is_caller, first.below_ms) == (LEAF, False, 0.0)
        assert (second.func_id, second.is_caller) == (CULPRIT, True)
        assert second.below_ms == pytest.approx(100, abs=20)
        assert second.ranking_ms == second.self_delta_ms


def test_a_caller_that_was_seen_too_still_comes_behind_if_most_of_it_was_hidden() -> None:
    before = ([20, 20, 20, 5], [0, 5, 0, 0])
    after = ([20, 45, 20, 45], [0, 205, 0, 2])
    with_tree, without = (compare_sides(1, before, after, with_tree=tree).increases[0] for tree in (True, False))
    assert (with_tree.func_id, without.func_id) == (LEAF, CULPRIT)


def test_without_hidden_increases_no_tree_is_read() -> None:
    asked = []

    def find(hidden: Collection[int], seen: Collection[int]) -> None:
        asked.append((hidden, seen))

    rng = np.random.default_rng(1)
    base = sample_of_hidden(rng, visible_ms=[20, 20], hidden_ms=[5, 5])
    head = sample_of_hidden(rng, visible_ms=[40, 20], hidden_ms=[5, 5])
    assert [increase.is_caller for increase in compare(base, head, find_callers=find).increases] == [False]
    assert asked == []
    head = sample_of_hidden(rng, visible_ms=[40, 20], hidden_ms=[5, 90])
    assert [increase.is_caller for increase in compare(base, head, find_callers=find).increases] == [None, None]
    assert len(asked) == 1


def find_in(prefix: list[int], func: list[int], self_us: list[int], hidden: list[int], seen: list[int]) -> set[int]:
    return find_callers(prefix, func, self_us, {number: (number,) for number in func}, hidden=hidden, seen=seen)


def test_a_func_is_a_caller_if_it_is_above_most_of_the_time_of_a_seen_one() -> None:
    # 1 calls 2, which 3 calls far more often.
    prefix, func = [-1, 0, -1, 2], [1, 2, 3, 2]
    assert find_in(prefix, func, [0, 10, 0, 90], [1, 3], [2]) == {3}
    assert find_in(prefix, func, [0, 90, 0, 10], [1, 3], [2]) == {1}
    assert find_in(prefix, func, [0, 90, 0, 10], [2], [1]) == set()
    assert find_in(prefix, func, [0, 0, 0, 0], [1], [2]) == set()


def test_callers_may_be_far_above_and_recursion_does_not_make_a_caller_of_itself() -> None:
    assert find_in([-1, 0, 1, 2], [1, 5, 5, 2], [0, 0, 0, 7], [1], [2]) == {1}
    assert find_in([-1, 0], [1, 1], [3, 7], [1], [1]) == set()
    deep = 20_000
    chain = list(range(-1, deep - 1))
    assert find_in(chain, list(range(deep)), [1] * deep, [0, deep // 2], [deep - 1]) == {0, deep // 2}


def test_funcs_of_several_numbers_count_for_each() -> None:
    callers = find_callers([-1, 0], [7, 8], [0, 5], {7: (1, 2), 8: (3,)}, hidden=[1, 2], seen=[3])
    assert callers == {1, 2}
