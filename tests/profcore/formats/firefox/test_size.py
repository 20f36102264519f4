"""Deep and wide trees: nothing recurses over a tree, and a tree of 100,000 nodes takes about a second."""

import pytest

from profcore.formats.firefox.writer import write_profile
from tests.profcore.formats.builders import export_tree
from tests.profcore.formats.firefox.lint import load_good

pytestmark = pytest.mark.slow(8)

NODES = 100_000


def test_a_stack_ten_thousand_deep_is_written() -> None:
    profile = load_good(b"".join(write_profile(export_tree(list(range(-1, 9_999)), 100))))

    assert profile["shared"]["stackTable"]["prefixOffset"] == [0] + [1] * 9_999


@pytest.mark.parametrize("shape", ["bushy", "flat", "chain"])
def test_a_hundred_thousand_nodes_of_any_shape_are_written(shape: str) -> None:
    prefix = {
        "bushy": [(node - 1) // 3 if node else -1 for node in range(NODES)],
        "flat": [-1] * NODES,
        "chain": list(range(-1, NODES - 1)),
    }[shape]
    export = export_tree(prefix, NODES if shape == "flat" else 5_000)

    body = b"".join(write_profile(export))

    assert load_good(body)["shared"]["stackTable"]["length"] > NODES // 2


def test_the_file_comes_in_small_pieces() -> None:
    pieces = list(write_profile(export_tree([-1] * NODES, NODES)))

    assert max(map(len, pieces)) < 1_000_000
