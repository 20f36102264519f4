"""Old stored call trees stay readable; the file was written on 2026-11-21 and is never written again."""

import pytest

from profcore.sums.blobs import BlobError, decode_call_tree
from profcore.sums.calltree import CallTree
from tests.corpus import DATA

FIRST = (DATA / "calltree-v1.blob").read_bytes()


def test_a_stored_call_tree_of_version_1_is_read() -> None:
    assert FIRST[:4] == b"FFt\1"
    assert decode_call_tree(FIRST) == CallTree(
        prefix=[-1, 0, 1, 1, 0, -1],
        func=[7, 3, 7, 260, 70_000, 3],
        self_us=[0, 1_200, 500, 3_000_000_000, 0, 5],
        self_samples=[0, 3, 1, 250, 0, 1],
        hidden_us=[10_000, 0, 0, 35_005, 0, 0],
    )


@pytest.mark.parametrize("version", [0, 255])
def test_a_call_tree_of_an_unknown_version_is_refused_by_its_number(version: int) -> None:
    with pytest.raises(BlobError, match=f"version {version} "):
        decode_call_tree(FIRST[:3] + bytes([version]) + FIRST[4:])
