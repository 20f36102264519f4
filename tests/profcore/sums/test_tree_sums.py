"""Trees summed by columns give the same result as node by node."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.sums.blobs import BlobError, decode_call_trees, encode_call_tree
from profcore.sums.calltree import CallTree, CallTreeBuilder, merge_call_trees
from profcore.sums.tree_sums import FEW_NARROW, FIRST_SLOTS, FUNC_BITS, NARROW, CallTreeSum
from tests.hostile.measuring import measure
from tests.profcore.pictures import by_path
from tests.profcore.strategies import PROPERTY, call_trees


def sum_up(*batches: list[CallTree]) -> CallTree:
    """Returns the sum of trees that are added in batches."""
    total = CallTreeSum()
    for batch in batches:
        total.add(decode_call_trees([encode_call_tree(tree) for tree in batch]))
    return total.tree()


def chain(depth: int, *, func: int = 7) -> CallTree:
    """Returns a recursion of that many calls; the last took 1 µs."""
    zeros = [0] * (depth - 1)
    return CallTree(list(range(-1, depth - 1)), [func] * depth, [*zeros, 1], [*zeros, 1], [*zeros, 0])


def grown(count: int, funcs: int, seed: int) -> CallTree:
    """Returns a random tree of at most that many nodes."""
    draw, builder = random.Random(seed), CallTreeBuilder()
    for _ in range(count):
        node = builder.node(draw.randrange(-1, len(builder.tree)), draw.randrange(funcs))
        builder.tree.self_us[node] += draw.randrange(100)
        builder.tree.self_samples[node] += 1
    return builder.tree


@PROPERTY
@given(st.lists(st.lists(call_trees(), max_size=4), max_size=3))
def test_a_sum_by_columns_is_the_sum_node_by_node(batches: list[list[CallTree]]) -> None:
    assert by_path(sum_up(*batches)) == by_path(merge_call_trees(tree for batch in batches for tree in batch))


@PROPERTY
@given(st.lists(call_trees(), max_size=4))
def test_in_a_sum_callers_come_first_and_no_path_is_there_twice(trees: list[CallTree]) -> None:
    tree = sum_up(trees)
    assert all(-1 <= prefix < node for node, prefix in enumerate(tree.prefix))
    assert len(by_path(tree)) == len(tree)


def test_trees_larger_than_the_first_table_are_summed_up() -> None:
    trees = [grown(5 * FIRST_SLOTS, funcs, seed) for seed, funcs in enumerate((3, 40, 2_000, 2_000))]
    expected = by_path(merge_call_trees(trees))
    assert len(expected) > 10 * FIRST_SLOTS
    assert by_path(sum_up(trees[:1], trees[1:])) == expected


def test_a_recursion_as_deep_as_a_trace_may_be_is_summed_up() -> None:
    deep = chain(10_000)
    assert sum_up([deep], [deep, chain(3)]) == CallTree(
        deep.prefix,
        deep.func,
        [1 if node == 2 else 2 * us for node, us in enumerate(deep.self_us)],
        [1 if node == 2 else 2 * count for node, count in enumerate(deep.self_samples)],
        deep.hidden_us,
    )


@pytest.mark.slow(5)
def test_depths_beyond_16_bits_keep_their_order() -> None:
    deep = chain(70_000)
    assert sum_up([deep, chain(2, func=8)]).self_us == [0, 0, 0, 1, *deep.self_us[2:]]


def test_equal_input_gives_equal_columns() -> None:
    trees = [grown(500, 20, seed) for seed in range(3)]
    assert sum_up(trees, trees[:1]) == sum_up(trees, trees[:1])


def test_nothing_is_a_sum_too() -> None:
    assert sum_up() == sum_up([]) == sum_up([CallTree()]) == CallTree()


def test_the_largest_func_id_is_kept_apart_from_its_callers() -> None:
    most = (1 << FUNC_BITS) - 1
    tree = CallTree([-1, 0, 0], [most, most, 0], [1, 2, 3], [1, 1, 1], [0, 0, 4])
    assert by_path(sum_up([tree], [tree])) == {(most,): (2, 2, 0), (most, most): (4, 2, 0), (most, 0): (6, 2, 8)}


def test_a_func_beyond_its_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="31 bits"):
        sum_up([CallTree([-1], [1 << FUNC_BITS], [1], [1], [0])])


def test_one_damaged_tree_among_others_is_noticed() -> None:
    good = encode_call_tree(chain(3))
    with pytest.raises(BlobError):
        decode_call_trees([good, good[:-1], good])


def test_a_deep_tree_costs_as_much_as_its_nodes() -> None:
    """By column, each depth took 60 steps and 70 µs, and a recursion of 10,000 calls 0.7 s."""
    deep = decode_call_trees([encode_call_tree(chain(10_000))])
    assert measure(lambda: CallTreeSum().add(deep)).steps < 25 * 10_000


def broom(depth: int, leaves: int, first: int) -> CallTree:
    """Returns a recursion whose last call has so many callees, each of 1 µs, and the first of these as many again."""
    prefix = [*range(-1, depth - 1), *[depth - 1] * leaves, *[depth] * leaves]
    func = [*[7] * depth, *range(first, first + leaves), *range(first, first + leaves)]
    ones = [0] * depth + [1] * (2 * leaves)
    return CallTree(prefix, func, ones, ones, [0] * len(func))


@pytest.mark.parametrize("depth", [FEW_NARROW - 1, FEW_NARROW + 1, 2_000])
def test_deep_trees_with_wide_ends_are_summed_up(depth: int) -> None:
    trees = [broom(depth, 3 * NARROW, 0), chain(depth + 9), broom(depth, 2, NARROW), broom(depth + 3, 2 * NARROW, 50)]
    expected = by_path(merge_call_trees(trees))
    assert by_path(sum_up(trees)) == expected
    assert by_path(sum_up(*([tree] for tree in trees))) == expected
    assert by_path(sum_up(trees[2:], trees[:2])) == expected
