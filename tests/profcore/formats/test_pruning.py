"""The size guard: light call paths are removed, totals stay, and the export tells what was removed."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.formats.firefox.writer import write_profile
from profcore.formats.pruning import prune_export
from profcore.formats.slice import SliceExport
from profcore.sums.calltree import CallTree, picture, total_us
from profcore.trace.weights import TimeParts
from tests.profcore.formats.builders import export_of, export_tree
from tests.profcore.formats.firefox.lint import load_good


def pictured(export: SliceExport) -> str:
    return picture(export.tree, [func.label for func in export.funcs])


def test_the_lightest_paths_go_and_their_time_stays_with_their_caller() -> None:
    export = export_of({"main": 10, "main draw": 50, "main draw text": 2, "main log": 3, "tick": 1})
    pruned = prune_export(export, 2)
    assert pictured(pruned) == "\n".join(
        [
            "- main (total: 65, self: 10)",
            "  - draw (total: 52, self: 50)",
            "    - (pruned) (total: 2, self: 2)",
            "  - (pruned) (total: 3, self: 3)",
            "- (pruned) (total: 1, self: 1)",
        ]
    )
    assert pruned.pruned is not None
    assert (pruned.pruned.call_nodes, pruned.pruned.self_us, pruned.pruned.below_us) == (3, 6, 4)


def test_equal_paths_stay_or_go_together() -> None:
    pruned = prune_export(export_of({"a": 5, "b": 5, "c": 5, "d": 9}), 2)
    assert pictured(pruned) == "- (pruned) (total: 15, self: 15)\n- d (total: 9, self: 9)"


def test_a_slice_that_is_small_enough_is_left_alone() -> None:
    export = export_of({"main": 1, "main draw": 2})
    assert prune_export(export, 2) is export


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), min_size=1, max_size=40), st.integers(1, 20))
def test_the_sum_and_the_totals_of_what_is_left_do_not_change(rows: list[tuple[int, int]], most: int) -> None:
    prefix = [min(above, node) - 1 for node, (above, _) in enumerate(rows)]
    self_us = [us for _, us in rows]
    count = len(rows)
    tree = CallTree(prefix, list(range(count)), self_us, [1] * count, [0] * count)
    funcs = export_tree([-1], count).funcs
    export = replace(export_of({}), funcs=funcs, tree=tree, time=TimeParts(js_us=sum(self_us)))
    pruned = prune_export(export, most)
    assert sum(pruned.tree.self_us) == sum(self_us)
    before = dict(zip(tree.func, total_us(tree), strict=True))
    after = {f: us for f, us in zip(pruned.tree.func, total_us(pruned.tree), strict=True) if f < count}
    assert len(after) <= max(most, 0)
    assert after == {func: before[func] for func in after}
    if pruned.pruned is not None:
        assert pruned.pruned.call_nodes == count - len(after)
        assert all(before[func] < pruned.pruned.below_us for func in before.keys() - after.keys())


def test_the_profile_says_what_was_pruned() -> None:
    profile = load_good(b"".join(write_profile(prune_export(export_of({"a": 4_000, "a b": 1_000, "c": 5_000}), 2))))
    extra = {section["label"]: section["entries"] for section in profile["meta"]["extra"]}
    assert [entry["value"] for entry in extra["Pruned"]] == [1, 1.001, 1.0, 0.1]


def test_pruned_nodes_are_dimmed_and_grey() -> None:
    profile = load_good(b"".join(write_profile(prune_export(export_of({"a": 4_000, "a b": 1_000, "c": 5_000}), 2))))
    shared = profile["shared"]
    row = [shared["stringArray"][name] for name in shared["funcTable"]["name"]].index("(pruned)")
    assert (shared["funcTable"]["resource"][row], shared["funcTable"]["isJS"][row]) == (-1, False)
    assert shared["frameTable"]["category"][row] == 0


@pytest.mark.parametrize("shape", ["deep", "wide"])
def test_a_large_tree_is_cut_to_size(shape: str) -> None:
    count = 50_000
    export = export_tree(list(range(-1, count - 1)) if shape == "deep" else [-1] * count, 5_000)
    pruned = prune_export(export, 1_000)
    assert len(pruned.tree) <= 2_001
    assert json.loads(b"".join(write_profile(pruned)))["shared"]["stackTable"]["length"] <= 2_002
