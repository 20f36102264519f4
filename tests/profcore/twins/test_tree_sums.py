"""Both twins add up stored call trees to the same sum, and the kernel adds none that the pure twin refuses."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.sums.blobs import BlobError, encode_call_tree
from profcore.sums.calltree import CallTree, merge_call_trees
from profcore.sums.tree_sums import FUNC_BITS, BlobSum
from tests.profcore.pictures import by_path
from tests.profcore.strategies import call_trees
from tests.profcore.twins.comparing import kernel_module, needs_kernel
from tests.properties import bounded

pytestmark = needs_kernel
TREE = CallTree([-1, 0, 1, -1], [0, 9, 0, 300], [0, 100, 2_500, 7], [0, 1, 25, 1], [0, 0, 4, 0])


def sum_up(kernel: object, batches: Sequence[Sequence[CallTree]]) -> BlobSum:
    """Returns the sum of trees that are added in batches."""
    total = BlobSum(kernel)  # type: ignore[arg-type]  # or what stands for one
    for batch in batches:
        total.add([encode_call_tree(tree) for tree in batch])
    return total


@bounded(200)
@given(st.lists(st.lists(call_trees(), max_size=4), max_size=3))
def test_any_trees_in_batches(batches: list[list[CallTree]]) -> None:
    pure, compiled = (sum_up(kernel, batches) for kernel in (None, kernel_module()))
    tree = compiled.tree()
    assert by_path(tree) == by_path(pure.tree()) == by_path(merge_call_trees(tree for some in batches for tree in some))
    assert compiled.size == pure.size == len(tree)
    assert all(-1 <= prefix < node for node, prefix in enumerate(tree.prefix))


@pytest.mark.parametrize("top", [0, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**60])
def test_numbers_of_every_width(top: int) -> None:
    tree = CallTree([-1, -1], [1, min(top, 2**FUNC_BITS - 1)], [top, 1], [1, top], [top, 0])
    assert by_path(sum_up(kernel_module(), [[tree]]).tree()) == by_path(tree)


@pytest.mark.parametrize(
    "bad",
    [
        lambda good: good[:-1],
        lambda good: good + b"\0",
        lambda good: b"FFc\x05" + good[4:],
        lambda good: good[:4],
        lambda good: b"",
        lambda good: encode_call_tree(CallTree([-1], [2**FUNC_BITS], [0], [0], [0])),
    ],
)
def test_what_the_pure_twin_refuses_is_not_added_and_neither_is_its_batch(bad: Callable[[bytes], bytes]) -> None:
    good = encode_call_tree(TREE)
    compiled = sum_up(kernel_module(), [[TREE]])
    with pytest.raises((BlobError, ValueError)):
        compiled.add([good, bad(good)])
    assert by_path(compiled.tree()) == by_path(TREE)


def test_what_the_kernel_leaves_to_the_pure_twin_is_added_by_it() -> None:
    class OnlyFirst:
        """The kernel's sum, which looks at the first batch alone."""

        def __init__(self) -> None:
            self.sum = kernel_module().TreeSum()
            self.columns = self.sum.columns
            self.batches = 0

        def add(self, blobs: list[bytes]) -> int | None:
            self.batches += 1
            return self.sum.add(blobs) if self.batches == 1 else None

    total = sum_up(SimpleNamespace(TreeSum=OnlyFirst), [[TREE], [TREE, TREE], [TREE]])
    assert total.size == len(TREE)
    assert by_path(total.tree()) == by_path(merge_call_trees([TREE] * 4))
