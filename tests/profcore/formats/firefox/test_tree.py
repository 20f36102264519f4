"""A call tree written to a Firefox profile is read back as the same picture."""

from profcore.formats.firefox.writer import write_profile
from profcore.formats.slice import SliceExport
from profcore.sums.calltree import picture
from tests.profcore.formats.builders import export_of
from tests.profcore.formats.firefox.lint import load_good, read_runs, read_tree


def redraw(export: SliceExport) -> list[str]:
    """Returns the lines of the tree that a reader of the profile sees."""
    return picture(*read_tree(load_good(b"".join(write_profile(export))))).splitlines()


def test_a_tree_comes_back_as_the_same_picture() -> None:
    export = export_of({"main": 1, "main render": 2, "main render format": 4, "main walk": 8, "tick": 3})

    assert redraw(export) == [
        "- main (total: 15, self: 1)",
        "  - walk (total: 8, self: 8)",
        "  - render (total: 6, self: 2)",
        "    - format (total: 4, self: 4)",
        "- tick (total: 3, self: 3)",
    ]


def test_recursion_keeps_one_call_node_for_each_level() -> None:
    assert redraw(export_of({"walk walk walk": 5, "walk walk": 2})) == [
        "- walk (total: 7, self: 0)",
        "  - walk (total: 7, self: 2)",
        "    - walk (total: 5, self: 5)",
    ]


def test_hidden_time_is_a_func_of_its_own_at_the_root() -> None:
    assert redraw(export_of({"main": 5}, hidden_us=9)) == [
        "- (hidden) (total: 9, self: 9)",
        "- main (total: 5, self: 5)",
    ]


def test_call_paths_without_time_are_left_out() -> None:
    assert redraw(export_of({"main": 5, "main never": 0, "gone": 0})) == ["- main (total: 5, self: 5)"]


def test_samples_lie_in_tree_order_heaviest_first_and_time_is_the_running_sum() -> None:
    export = export_of({"b": 1, "a": 2, "a x": 1_000, "a y": 3_000, "c": 1}, idle_us=7_500)

    profile = load_good(b"".join(write_profile(export)))
    tree, names = read_tree(profile)
    samples = profile["threads"][0]["samples"]

    assert [names[func] for func in tree.func] == ["a", "y", "x", "b", "c"]
    assert read_runs(profile) == [(0, 2), (1, 3_000), (2, 1_000), (3, 1), (4, 1), (None, 7_500)]
    assert samples["timeDeltas"] == [0.0, *samples["weight"][:-1]]
    assert samples["weightType"] == "tracing-ms"


def test_a_wide_path_is_equal_pieces_of_at_most_a_thousandth_of_the_axis_with_the_same_sum() -> None:
    export = export_of({"narrow": 900_000, "wide": 7_000_001, "wide deep": 2_000_000, "light": 3_000}, hidden_us=96_999)

    profile = load_good(b"".join(write_profile(export)))
    samples, (tree, names) = profile["threads"][0]["samples"], read_tree(profile)
    pieces: dict[str, list[int]] = {}
    for stack, weight in zip(samples["stack"][:-1], samples["weight"][:-1], strict=True):
        pieces.setdefault(names[tree.func[stack]], []).append(round(weight * 1000))

    assert {name: sum(us) for name, us in pieces.items()} == {
        "wide": 7_000_001,
        "deep": 2_000_000,
        "narrow": 900_000,
        "(hidden)": 96_999,
        "light": 3_000,
    }
    assert {name: (len(us), min(us), max(us)) for name, us in pieces.items()} == {
        "wide": (701, 9_875, 10_000),
        "deep": (200, 10_000, 10_000),
        "narrow": (90, 10_000, 10_000),
        "(hidden)": (10, 9_625, 9_750),
        "light": (1, 3_000, 3_000),
    }


def test_the_pieces_of_a_path_add_up_without_an_error() -> None:
    export = export_of({"main": 30_001, "main render": 300_000, "tick": 999_999_999})

    samples = load_good(b"".join(write_profile(export)))["threads"][0]["samples"]
    sums: dict[int | None, float] = {}
    for stack, weight in zip(samples["stack"], samples["weight"], strict=True):
        sums[stack] = sums.get(stack, 0.0) + weight

    assert sums == {0: 999_999.999, 1: 30.001, 2: 300.0, None: 0.0}


def test_idle_time_is_the_weight_of_the_last_sample_which_has_no_stack() -> None:
    samples = load_good(b"".join(write_profile(export_of({"main": 5}, idle_us=20_000))))["threads"][0]["samples"]

    assert (samples["stack"][-1], samples["weight"][-1]) == (None, 20.0)


def test_the_profilers_own_and_unobserved_time_are_written_apart_from_the_samples() -> None:
    profile = load_good(b"".join(write_profile(export_of({"main": 5_000}, profiler_us=1_000, unobserved_us=2_500))))

    parts = next(section for section in profile["meta"]["extra"] if section["label"] == "Parts of time")
    values = {entry["label"].split(" (")[0]: entry["value"] for entry in parts["entries"]}
    assert values == {"JavaScript": 5, "Hidden": 0, "Engine": 0} | {
        "Idle": 0,
        "Unobserved": 2.5,
        "Profiler": 1,
        "Span": 8.5,
    }
    assert sum(us for _, us in read_runs(profile)) == 5_000


def test_the_order_of_funcs_and_nodes_in_the_slice_does_not_show() -> None:
    stacks = {"main": 1, "main render": 2, "main walk": 2, "main walk deep": 4, "tick": 7}
    backwards = dict(reversed(list(stacks.items())))
    funcs = export_of(stacks).funcs

    assert b"".join(write_profile(export_of(stacks, funcs=funcs))) == b"".join(
        write_profile(export_of(backwards, funcs=funcs))
    )


def test_an_empty_slice_is_a_whole_profile_with_one_thread() -> None:
    profile = load_good(b"".join(write_profile(export_of({}, pages=(), releases=()))))

    assert profile["threads"][0]["samples"]["stack"] == [None]
    assert profile["meta"]["profilingEndTime"] > 0
    assert read_tree(profile)[0].func == []


def test_a_slice_of_hidden_time_alone_shows_it() -> None:
    assert redraw(export_of({}, hidden_us=3)) == ["- (hidden) (total: 3, self: 3)"]
