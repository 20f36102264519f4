"""Call trees as pictures: columns of stacks in, a tree with totals out."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.sums.calltree import (
    MASK_FUNCS,
    CallTree,
    CallTreeBuilder,
    _topmost_by_masks,
    _topmost_by_walk,
    find_topmost,
    merge_call_trees,
    picture,
    total_us,
)
from profcore.sums.fold import sum_by_func
from profcore.trace.funcs import FuncTable
from tests.profcore.pictures import by_path, drawn, names_of, stacks_in, tree_of
from tests.profcore.strategies import PROPERTY, call_trees, prefix_trees

DEEP = 10_000


def test_a_picture_is_read_by_columns() -> None:
    columns = """
        A  A  -  LongName
        B  B     C
           D
    """
    assert stacks_in(columns) == [["A", "B"], ["A", "B", "D"], [], ["LongName", "C"]]


def test_equal_paths_meet_in_one_node() -> None:
    columns = """
        A  A  A
        B  B  C
           D
    """
    assert drawn(columns) == [
        "- A (total: 3, self: 0)",
        "  - B (total: 2, self: 1)",
        "    - D (total: 1, self: 1)",
        "  - C (total: 1, self: 1)",
    ]


def test_one_func_called_from_two_places_is_two_nodes() -> None:
    columns = """
        A  B  A
        C  C
    """
    assert drawn(columns) == [
        "- A (total: 2, self: 1)",
        "  - C (total: 1, self: 1)",
        "- B (total: 1, self: 0)",
        "  - C (total: 1, self: 1)",
    ]


def test_the_heaviest_comes_first_and_equals_by_name() -> None:
    assert drawn("C  A  B  D  D") == [
        "- D (total: 2, self: 2)",
        "- A (total: 1, self: 1)",
        "- B (total: 1, self: 1)",
        "- C (total: 1, self: 1)",
    ]


def test_samples_without_a_stack_are_no_nodes() -> None:
    assert drawn("-  A  -") == ["- A (total: 1, self: 1)"]
    assert drawn("-  -") == []


def test_recursion_is_a_chain_of_nodes() -> None:
    columns = """
        A  A
        A  A
        A
    """
    assert drawn(columns) == [
        "- A (total: 2, self: 0)",
        "  - A (total: 2, self: 1)",
        "    - A (total: 1, self: 1)",
    ]


def test_stacks_without_samples_make_no_nodes() -> None:
    builder = CallTreeBuilder()
    builder.add_stacks([-1, 0, 0, -1], [0, 1, 2, 3], [0, 0, 5, 0], [0, 0, 1, 0], [0] * 4)
    assert picture(builder.tree, "ABCD").splitlines() == ["- A (total: 5, self: 0)", "  - C (total: 5, self: 5)"]


def test_a_sample_of_no_weight_still_makes_its_node() -> None:
    builder = CallTreeBuilder()
    builder.add_stacks([-1, 0], [0, 1], [0, 0], [0, 1], [0, 0])
    assert by_path(builder.tree) == {(0,): (0, 0, 0), (0, 1): (0, 1, 0)}


def test_hidden_time_without_samples_makes_its_node() -> None:
    builder = CallTreeBuilder()
    builder.add_stacks([-1, 0, 0], [0, 1, 2], [0, 0, 0], [0, 0, 0], [0, 5, 0])
    assert by_path(builder.tree) == {(0,): (0, 0, 0), (0, 1): (0, 0, 5)}


def test_stacks_that_a_browser_wrote_twice_are_one_node() -> None:
    builder = CallTreeBuilder()
    builder.add_stacks([-1, -1, 0, 1], [0, 0, 1, 1], [1, 2, 3, 4], [1, 1, 1, 1], [5, 6, 7, 8])
    assert by_path(builder.tree) == {(0,): (3, 2, 11), (0, 1): (7, 2, 15)}


def test_hidden_time_is_added_apart_from_self_and_total() -> None:
    tree = CallTree([-1, 0], [0, 1], [5, 7], [1, 1], [100, 200])
    merged = merge_call_trees([tree, tree])
    assert by_path(merged) == {(0,): (10, 2, 200), (0, 1): (14, 2, 400)}
    assert total_us(merged) == [24, 14]


def test_a_tree_of_other_funcs_is_mapped_when_added() -> None:
    builder = CallTreeBuilder()
    builder.add_tree(CallTree([-1, 0], [0, 1], [1, 2], [1, 1], [0, 0]), func_of=[40, 0])
    builder.add_tree(CallTree([-1], [7], [3], [1], [0]), func_of={7: 40})
    assert by_path(builder.tree) == {(40,): (4, 2, 0), (40, 0): (2, 1, 0)}


def test_a_tree_that_is_merged_stays_as_it_was() -> None:
    tree = CallTree([-1], [0], [1], [1], [0])
    merge_call_trees([tree, tree])
    assert tree == CallTree([-1], [0], [1], [1], [0])


def test_folding_two_traces_is_merging_their_trees() -> None:
    funcs, both = FuncTable(), CallTreeBuilder()
    one = tree_of("A  A\nB  C", funcs)
    other = tree_of("A  D\nC  A", funcs)
    both.add_tree(one)
    both.add_tree(other)
    assert picture(merge_call_trees([one, other]), names_of(funcs)).splitlines() == [
        "- A (total: 3, self: 0)",
        "  - C (total: 2, self: 2)",
        "  - B (total: 1, self: 1)",
        "- D (total: 1, self: 0)",
        "  - A (total: 1, self: 1)",
    ]


@PROPERTY
@given(call_trees(), call_trees(), call_trees())
def test_merging_is_commutative_and_associative(one: CallTree, two: CallTree, three: CallTree) -> None:
    left = merge_call_trees([merge_call_trees([one, two]), three])
    right = merge_call_trees([one, merge_call_trees([two, three])])
    turned = merge_call_trees([three, one, two])
    assert by_path(left) == by_path(right) == by_path(turned)


@PROPERTY
@given(call_trees(), call_trees())
def test_adding_stacks_is_merging_trees(one: CallTree, two: CallTree) -> None:
    added, single = CallTreeBuilder(), []
    for tree in (one, two):
        added.add_stacks(tree.prefix, tree.func, tree.self_us, tree.self_samples, tree.hidden_us)
        alone = CallTreeBuilder()
        alone.add_stacks(tree.prefix, tree.func, tree.self_us, tree.self_samples, tree.hidden_us)
        single.append(alone.tree)
    assert by_path(added.tree) == by_path(merge_call_trees(single))


@PROPERTY
@given(st.lists(call_trees(), max_size=3))
def test_all_self_time_is_in_the_totals_of_the_roots(trees: list[CallTree]) -> None:
    merged = merge_call_trees(trees)
    roots = sum(total for total, prefix in zip(total_us(merged), merged.prefix, strict=True) if prefix < 0)
    assert roots == sum(merged.self_us) == sum(sum(tree.self_us) for tree in trees)
    assert sum(merged.self_samples) == sum(sum(tree.self_samples) for tree in trees)
    assert sum(merged.hidden_us) == sum(sum(tree.hidden_us) for tree in trees)


@PROPERTY
@given(st.lists(call_trees(), max_size=3))
def test_parents_come_before_children_and_no_path_occurs_twice(trees: list[CallTree]) -> None:
    merged = merge_call_trees(trees)
    assert all(prefix < node for node, prefix in enumerate(merged.prefix))
    assert len(set(zip(merged.prefix, merged.func, strict=True))) == len(merged) == len(by_path(merged))


Finder = Callable[[list[int], list[int]], list[bool]]


def by_plain_walk(prefix: list[int], func: list[int]) -> list[bool]:
    """Returns the result of a walk from every node to its root: slow, but clearly correct."""
    topmost = []
    for node, key in enumerate(func):
        above, parent = set(), prefix[node]
        while parent >= 0:
            above.add(func[parent])
            parent = prefix[parent]
        topmost.append(key not in above)
    return topmost


@PROPERTY
@given(prefix_trees(max_nodes=60, funcs=6))
def test_both_ways_to_find_the_topmost_calls_are_right(columns: tuple[list[int], list[int]]) -> None:
    prefix, func = columns
    expected = by_plain_walk(prefix, func)
    assert _topmost_by_masks(prefix, func) == expected
    assert _topmost_by_walk(prefix, func) == expected
    assert find_topmost(prefix, func, 6) == find_topmost(prefix, func, MASK_FUNCS + 1) == expected


@pytest.mark.parametrize("find", [_topmost_by_masks, _topmost_by_walk])
def test_siblings_do_not_shadow_each_other(find: Finder) -> None:
    # A ─ B, A ─ B again, B ─ A: only a caller counts, not whoever ran before
    assert find([-1, 0, 0, -1, 3], [0, 1, 1, 1, 0]) == [True] * 5


@pytest.mark.parametrize("funcs", [1, 2, MASK_FUNCS, MASK_FUNCS + 1, DEEP])
def test_a_very_deep_stack_passes_every_function(funcs: int) -> None:
    prefix, func = list(range(-1, DEEP - 1)), [node % funcs for node in range(DEEP)]
    weight = [0] * (DEEP - 1) + [7]
    assert find_topmost(prefix, func, funcs) == [node < funcs for node in range(DEEP)]
    builder = CallTreeBuilder()
    builder.add_stacks(prefix, func, weight, weight, weight)
    merged = merge_call_trees([builder.tree, builder.tree])
    assert len(merged) == DEEP
    assert total_us(merged) == [14] * DEEP
    sums = sum_by_func(prefix, func, weight, weight, weight)
    assert sums.total_us == dict.fromkeys(range(funcs), 7)
    assert sums.self_us == sums.hidden_us == {func[-1]: 7}
    assert sums.hidden_total_us == dict.fromkeys(range(funcs), 7)


def test_a_very_deep_tree_can_be_drawn() -> None:
    deep = 2_500  # beyond any recursion limit; a picture's own size grows with the square
    tree = CallTree(list(range(-1, deep - 1)), [0] * deep, [1] * deep, [1] * deep, [0] * deep)
    lines = picture(tree, ["A"]).splitlines()
    assert lines[0] == f"- A (total: {deep}, self: 1)"
    assert lines[-1] == "  " * (deep - 1) + "- A (total: 1, self: 1)"
    assert all(len(deeper) - len(line) in (1, 2) for line, deeper in pairwise(lines))
