"""Blobs that were stored before stay readable; the files are never written again."""

from profcore.sums.blobs import Contribution, decode_call_tree, decode_contribution
from profcore.sums.calltree import CallTree
from tests.corpus import DATA


def test_a_stored_call_tree_is_read() -> None:
    assert decode_call_tree((DATA / "call-tree.blob").read_bytes()) == CallTree(
        prefix=[-1, 0, 1, 1, 0, -1],
        func=[7, 3, 7, 260, 70_000, 3],
        self_us=[0, 1_200, 500, 3_000_000_000, 0, 5],
        self_samples=[0, 3, 1, 250, 0, 1],
        hidden_us=[10_000, 0, 0, 35_005, 0, 0],
    )


def test_a_stored_contribution_is_read() -> None:
    assert decode_contribution((DATA / "contribution.blob").read_bytes()) == Contribution(
        func=[0, 3, 700],
        self_us=[100, 0, 2_500],
        total_us=[2_600, 2_600, 2_500],
        hidden_us=[0, 0, 5],
        self_samples=[1, 0, 25],
        total_samples=[26, 26, 25],
        hidden_total_us=[9, 0, 5],
        uncertain_us=[0, 40, 0],
    )
