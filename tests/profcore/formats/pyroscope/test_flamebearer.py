"""Flame graphs as Grafana reads them: levels whose bars lie within their callers'."""

from collections.abc import Sequence

import pytest

from profcore.formats.chart.model import ChartFunc, ChartPlace
from profcore.formats.pyroscope.flamebearer import Flamebearer, name_funcs, write_flamebearer
from profcore.formats.pyroscope.profile_types import PROFILE_TYPES, ProfileType
from profcore.formats.slice import ExportFunc, SliceExport
from profcore.sums.calltree import CallTree
from profcore.trace.weights import TimeParts
from tests.profcore.formats.pyroscope.reading import picture

BOTH, SCRIPT, HIDDEN, ENGINE = PROFILE_TYPES


def make_export(tree: CallTree, names: str, **time: int) -> SliceExport:
    return SliceExport(
        project="Shop",
        query="",
        funcs=[ExportFunc(label=name, name=name) for name in names],
        tree=tree,
        time=TimeParts(js_us=sum(tree.self_us), **time),
        views=1,
        traces=1,
        samples=1,
        interval_ms=10.0,
        started_at_ms=0,
        ended_at_ms=3_600_000,
    )


def draw(tree: CallTree, names: str, type_: ProfileType = SCRIPT, *, nodes: int = 100, **time: int) -> Flamebearer:
    return write_flamebearer(type_.draw(make_export(tree, names, **time), max_nodes=nodes))


def tree_of(prefix: list[int], self_us: list[int], hidden_us: Sequence[int] | None = None) -> CallTree:
    count = len(prefix)
    return CallTree(prefix, list(range(count)), self_us, [1] * count, list(hidden_us or [0] * count))


TREE = tree_of([-1, 0, 0, 1, -1], [2, 3, 1, 4, 5], [0, 6, 0, 0, 0])


def test_script_time_is_the_tree_in_ns() -> None:
    flames = draw(TREE, "ABCDE", hidden_us=9)
    assert picture(flames.names, flames.levels) == [
        "total 15000 0",
        "  A 10000 2000",
        "    B 7000 3000",
        "      D 4000 4000",
        "    C 1000 1000",
        "  E 5000 5000",
    ]
    assert (flames.total, flames.max_self) == (15_000, 5_000)


def test_hidden_time_is_that_of_functions_and_the_rest() -> None:
    flames = draw(TREE, "ABCDE", HIDDEN, hidden_us=9)
    assert picture(flames.names, flames.levels) == [
        "total 9000 0",
        "  A 6000 0",
        "    B 6000 6000",
        "  (hidden) 3000 3000",
    ]


def test_both_are_their_sum() -> None:
    flames = draw(TREE, "ABCDE", BOTH, hidden_us=9)
    assert picture(flames.names, flames.levels) == [
        "total 24000 0",
        "  A 16000 2000",
        "    B 13000 9000",
        "      D 4000 4000",
        "    C 1000 1000",
        "  E 5000 5000",
        "  (hidden) 3000 3000",
    ]


def test_engine_time_has_no_stack() -> None:
    flames = draw(TREE, "ABCDE", ENGINE, hidden_us=9, engine_us=7)
    assert picture(flames.names, flames.levels) == ["total 7000 0", "  (engine) 7000 7000"]


def test_what_has_no_room_is_pruned_and_stays_in_the_sums() -> None:
    flames = draw(TREE, "ABCDE", nodes=2)
    assert picture(flames.names, flames.levels) == [
        "total 15000 0",
        "  A 10000 2000",
        "    B 7000 3000",
        "      (pruned) 4000 4000",
        "    (pruned) 1000 1000",
        "  (pruned) 5000 5000",
    ]


def test_nothing_is_an_empty_graph() -> None:
    flames = draw(CallTree(), "")
    assert (flames.names, flames.levels, flames.total, flames.max_self) == (["total"], [[0, 0, 0, 0]], 0, 0)


def test_a_deep_stack_is_no_problem() -> None:
    depth = 10_000
    flames = draw(tree_of(list(range(-1, depth - 1)), [1] * depth), "A" * depth, nodes=depth)
    assert len(flames.levels) == depth + 1
    assert flames.levels[depth][1] == 1_000


APP = "https://shop.example/assets/app.js?v=1#x"


@pytest.mark.parametrize(
    ("func", "name"),
    [
        (ChartFunc("(hidden)", None, None), "(hidden)"),
        (ChartFunc("draw", ChartPlace(APP, 3, 4), None), "draw app.js:3:4"),
        (ChartFunc("draw", ChartPlace("https://shop.example/", 3, 4), None), "draw shop.example:3:4"),
        (ChartFunc("draw", ChartPlace("app.js", 3, None), None), "draw app.js:3"),
        (ChartFunc("draw", ChartPlace("/?q/", 3, 4), None), "draw /?q/:3:4"),
        (ChartFunc("draw", ChartPlace(APP, 3, 4), ChartPlace("src/a.ts", 1, None)), "draw a.ts:1"),
        (ChartFunc("(anonymous) a.ts:1:2", ChartPlace("src/a.ts", 1, 2), None), "(anonymous) a.ts:1:2"),
    ],
)
def test_a_function_has_its_place(func: ChartFunc, name: str) -> None:
    assert name_funcs([func]) == [name]


def test_functions_of_one_name_stay_apart() -> None:
    places = [ChartPlace(f"src/{folder}/index.ts", 1, 2) for folder in ("cart", "pay")]
    funcs = [ChartFunc("draw", place, None) for place in (*places, ChartPlace("src/cart/index.ts", 9, 2))]
    assert name_funcs(funcs) == ["draw src/cart/index.ts:1:2", "draw src/pay/index.ts:1:2", "draw index.ts:9:2"]
