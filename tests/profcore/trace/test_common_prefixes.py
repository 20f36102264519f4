"""What two stacks share, found in few steps whatever their depth."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.trace.hidden import (
    FEW_RUNS,
    STEPS_PER_STACK,
    HiddenRun,
    PathIndex,
    RunFinder,
    walk_to_common_prefix,
)
from tests.profcore.strategies import PROPERTY, prefix_trees


def common_prefixes(one: int, other: int, prefix: list[int], func: list[int]) -> tuple[int, int]:
    """Returns the common prefix as a walk finds it, and as the index does."""
    return walk_to_common_prefix(one, other, prefix, func), PathIndex(prefix, func).common_prefix(one, other)


def test_stacks_that_a_browser_wrote_twice_are_still_shared() -> None:
    # 0 ─ 1 ─ 2 and 3 ─ 4 ─ 5 say the same down to the second func
    for shared in common_prefixes(2, 5, [-1, 0, 1, -1, 3, 4], [7, 8, 9, 7, 8, 6]):
        assert shared in (1, 4)
    for shared in common_prefixes(2, 3, [-1, 0, 0, 1], [7, 8, 8, 9]):
        assert shared in (1, 2)


def test_a_very_deep_stack_is_compared_without_recursion() -> None:
    deep = 10_000
    prefix = [*range(-1, deep - 1), -1, *range(deep, 2 * deep - 1)]
    for shared in common_prefixes(deep - 1, 2 * deep - 1, prefix, [0] * (2 * deep)):
        assert shared in (deep - 1, 2 * deep - 1)


class CountedReads(list[int]):
    """Columns that count how often they are read by index."""

    reads = 0

    def __getitem__(self, index: Any) -> Any:  # Any: as the list has it
        CountedReads.reads += 1
        return super().__getitem__(index)


DEEP = 4_096


def caterpillar(kind: str) -> list[int]:
    """Returns the prefixes of a tree that makes walks long; its last two stacks are where the runs are."""
    if kind == "two deep stacks":
        return [*range(-1, DEEP - 1), -1, *range(DEEP, 2 * DEEP - 1)]
    if kind == "fork at the leaf":
        return [*range(-1, DEEP - 1), DEEP - 1, DEEP - 1]
    if kind == "comb":  # a leaf beside each func of a deep stack
        return [*range(-1, DEEP - 1), *range(DEEP)]
    return [-1, *((node - 1) // 2 for node in range(1, 2 * DEEP))]  # a balanced tree


@pytest.mark.parametrize("kind", ["two deep stacks", "fork at the leaf", "comb", "balanced"])
@pytest.mark.parametrize("funcs", [1, 2, DEEP * 2])
@pytest.mark.parametrize("neighbours", ["both", "one"])
@pytest.mark.parametrize("run_count", [FEW_RUNS, 4 * DEEP])
def test_all_runs_between_deep_stacks_take_few_steps(kind: str, funcs: int, neighbours: str, run_count: int) -> None:
    prefix = caterpillar(kind)
    count = len(prefix)
    CountedReads.reads = 0
    counted = CountedReads(prefix), CountedReads(node % funcs for node in range(count))
    afters = [DEEP - 1 - run % DEEP if neighbours == "both" else -1 for run in range(run_count)]
    runs = [HiddenRun(run, run + 1, 0, 1, 0, count - 1 - run % 2, after) for run, after in enumerate(afters)]
    finder = RunFinder(*counted, [False] * count, runs=runs)
    if finder.index is not None:
        finder.index.heads = CountedReads(finder.index.heads)
    for run in runs:
        finder.stacks_of(run)
    few_walks = 4 * FEW_RUNS * 2 * DEEP
    assert CountedReads.reads <= few_walks + 6 * run_count * count.bit_length() + 2 * STEPS_PER_STACK * count


@PROPERTY
@given(prefix_trees(max_nodes=30, funcs=3), st.data())
def test_the_common_prefix_is_what_comparing_two_paths_finds(
    columns: tuple[list[int], list[int]], data: st.DataObject
) -> None:
    prefix, func = columns
    if not prefix:
        return

    def path(stack: int) -> list[int]:
        funcs = []
        while stack >= 0:
            funcs.append(func[stack])
            stack = prefix[stack]
        return funcs[::-1]

    one, other = (data.draw(st.integers(0, len(prefix) - 1)) for _ in range(2))
    shared = 0
    for a, b in zip(path(one), path(other), strict=False):
        if a != b:
            break
        shared += 1
    for common in common_prefixes(one, other, prefix, func):
        assert path(common) == path(one)[:shared]
    assert path(PathIndex(prefix, func).root_of(one)) == path(one)[:1]
