"""Rules for every format: equal bytes for equal slices, small pieces, deep stacks, real gzip if packed."""

import gzip
from dataclasses import replace

import pytest
from hypothesis import given

from profcore.formats.chart.model import MAX_PATH
from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import SliceExport
from profcore.sums.calltree import CallTree
from tests.profcore.formats.builders import export_of, export_tree
from tests.profcore.formats.readers import READERS, Key, format_sums
from tests.profcore.strategies import PROPERTY, call_trees

NODES = 20_000


def write(name: str, export: SliceExport) -> bytes:
    return b"".join(EXPORTERS[name].write(export))


def reversed_siblings(export: SliceExport) -> SliceExport:
    """Returns the same slice with funcs and call nodes in another order, callers still before callees."""
    tree, count = export.tree, len(export.tree)
    depth = [0] * count
    for node, prefix in enumerate(tree.prefix):
        depth[node] = depth[prefix] + 1 if prefix >= 0 else 0
    order = sorted(range(count), key=lambda node: (depth[node], -node))
    place = {node: index for index, node in enumerate(order)}
    last = len(export.funcs) - 1
    moved = CallTree(
        [place[tree.prefix[node]] if tree.prefix[node] >= 0 else -1 for node in order],
        [last - tree.func[node] for node in order],
        [tree.self_us[node] for node in order],
        [tree.self_samples[node] for node in order],
        [tree.hidden_us[node] for node in order],
    )
    return replace(export, funcs=export.funcs[::-1], tree=moved)


@pytest.mark.parametrize("name", EXPORTERS)
def test_equal_slices_give_equal_bytes_whatever_the_order_of_their_rows(name: str) -> None:
    export = export_of({"a b": 5, "a c": 5, "a": 1, "b": 9, "c a b": 3}, hidden_us=4, idle_us=7)

    moved = reversed_siblings(export)

    assert moved.funcs[0] != export.funcs[0]
    assert write(name, export) == write(name, export)
    assert write(name, moved) == write(name, export)


@pytest.mark.slow(10)
@pytest.mark.parametrize("name", EXPORTERS)
def test_the_file_comes_in_small_pieces(name: str) -> None:
    bushy = [(node - 1) // 3 if node else -1 for node in range(NODES)]
    deep = list(range(-1, 1_999))
    for prefix in (bushy, deep):
        pieces = list(EXPORTERS[name].write(export_tree(prefix, len(prefix))))
        assert max(map(len, pieces)) < 1_000_000


@pytest.mark.slow(10)
@pytest.mark.parametrize("name", EXPORTERS)
def test_a_stack_ten_thousand_deep_is_written(name: str) -> None:
    export = export_tree(list(range(-1, 9_999)), 100)
    export.tree.self_us[:-1] = [0] * 9_999
    export.tree.self_us[-1] = export.time.js_us = 5
    export.tree.self_samples[:-1] = [0] * 9_999

    body = write(name, export)

    for reader in READERS.values():
        if reader.exporter == name:
            assert set(reader.read(body).total_us.values()) == {5}


@pytest.mark.parametrize("format_name", ["speedscope", "collapsed", "pprof"])
def test_whole_stacks_lose_their_middle_where_no_browser_makes_them_so_deep(format_name: str) -> None:
    reader = READERS[format_name]
    for depth in (MAX_PATH, MAX_PATH + 1, 3 * MAX_PATH):
        export = export_tree(list(range(-1, depth - 1)), depth)
        export.tree.self_us[:] = [0] * (depth - 1) + [7]
        export.tree.self_samples[:] = [0] * (depth - 1) + [1]

        sums = reader.read(write(reader.exporter, export))

        expected = format_sums(export, reader)
        assert sums.self_us == expected.self_us
        is_elided = depth > MAX_PATH
        assert (Key("(elided)") in sums.total_us) is is_elided
        assert len(sums.total_us) == MAX_PATH
        assert set(sums.total_us) - {Key("(elided)")} <= set(expected.total_us)


@pytest.mark.parametrize("name", EXPORTERS)
def test_a_format_is_gzip_where_it_says_so_and_nowhere_else(name: str) -> None:
    body = write(name, export_of({"main": 1}))

    assert (body[:2] == b"\x1f\x8b") is EXPORTERS[name].is_gzip
    if EXPORTERS[name].is_gzip:
        assert gzip.decompress(body)
        assert body[4:8] == b"\0\0\0\0", "the time of the gzip header"


@pytest.mark.parametrize("name", EXPORTERS)
def test_a_file_ends_as_its_kind_does(name: str) -> None:
    assert EXPORTERS[name].suffix.startswith(".")
    assert EXPORTERS[name].suffix.endswith(".gz") is EXPORTERS[name].is_gzip


@pytest.mark.slow(30)
@pytest.mark.parametrize("format_name", READERS)
@PROPERTY
@given(tree=call_trees())
def test_any_tree_comes_back(format_name: str, tree: CallTree) -> None:
    reader = READERS[format_name]
    export = replace(export_of({"A": 0, "B": 0, "C": 0, "D": 0, "E": 0}), tree=tree)
    export.time.js_us = sum(tree.self_us)

    sums = reader.read(write(reader.exporter, export))

    expected = format_sums(export, reader)
    assert sums.self_us == expected.self_us
    assert sums.total_us == expected.total_us
