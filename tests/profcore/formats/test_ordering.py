"""The order of an exported tree: depth first, heaviest first, ties by rank, no nodes without time."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from profcore.formats.ordering import order_heaviest_first, order_nodes
from profcore.sums.calltree import CallTree, total_us
from tests.profcore.strategies import PROPERTY, call_trees


def tree_of(*nodes: tuple[int, int, int]) -> CallTree:
    """Returns a tree of (prefix, func, self µs)."""
    prefix, func, self_us = (list(column) for column in zip(*nodes, strict=True))
    return CallTree(prefix, func, self_us, [0] * len(nodes), [0] * len(nodes))


def test_the_total_of_a_callee_decides_and_not_its_self_time() -> None:
    tree = tree_of((-1, 0, 0), (0, 1, 5), (0, 2, 1), (2, 3, 9))

    ordered = order_heaviest_first(tree, [0, 1, 2, 3])

    assert ordered.func == [0, 2, 3, 1]
    assert ordered.prefix == [-1, 0, 1, 0]
    assert ordered.self_us == [0, 1, 9, 5]


def test_equals_go_by_rank_whatever_the_order_of_the_nodes() -> None:
    rank = [2, 0, 1]

    for nodes in ([(-1, 0, 4), (-1, 1, 4), (-1, 2, 4)], [(-1, 2, 4), (-1, 0, 4), (-1, 1, 4)]):
        assert order_heaviest_first(tree_of(*nodes), rank).func == [1, 2, 0]


def test_a_caller_without_self_time_stays_and_a_branch_without_any_goes() -> None:
    tree = tree_of((-1, 0, 0), (0, 1, 3), (0, 2, 0), (2, 3, 0), (-1, 4, 0))

    assert order_heaviest_first(tree, range(5)).func == [0, 1]


def test_an_empty_tree_stays_empty() -> None:
    assert order_heaviest_first(CallTree(), []).func == []


def depth_first(tree: CallTree, weights: list[int], rank: Sequence[int], prefix: int = -1) -> list[int]:
    """Returns the nodes below a node in order, by a slow and direct method."""
    callees = [node for node in range(len(tree)) if tree.prefix[node] == prefix and weights[node]]
    callees.sort(key=lambda node: (-weights[node], rank[tree.func[node]], node))
    return [descendant for node in callees for descendant in (node, *depth_first(tree, weights, rank, node))]


@PROPERTY
@given(call_trees(), st.permutations(range(5)), st.sampled_from([1, 2**20, 2**40]))
def test_the_order_is_that_of_a_slow_walk_however_large_the_weights(
    tree: CallTree, rank: list[int], factor: int
) -> None:
    weights = [us * factor for us in total_us(tree)]
    assert order_nodes(tree, [weights], [us > 0 for us in weights], rank) == depth_first(tree, weights, rank)


def test_the_next_weights_decide_between_equals() -> None:
    tree = CallTree([-1, -1, -1], [0, 1, 2], [5, 5, 5], [1, 3, 2], [0, 0, 0])
    assert order_nodes(tree, [tree.self_us, tree.self_samples], [True] * 3, range(3)) == [1, 2, 0]
