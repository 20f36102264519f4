"""Head minus base, ms per page view: signed, exact, with both sides below."""

import json
from dataclasses import replace
from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from profcore.formats.firefox.writer import write_difference
from profcore.formats.slice import DifferenceExport, ExportFunc
from tests.profcore.formats.builders import URI, export_of
from tests.profcore.formats.firefox.lint import load_good

FUNCS = [
    ExportFunc(label=label, name=label, uri=URI, line=line, column=1) for line, label in enumerate("ABCD", start=1)
]


def difference(
    base: dict[str, int],
    head: dict[str, int],
    *,
    base_views: int = 2,
    head_views: int = 4,
    hidden: tuple[int, int] = (0, 0),
) -> DifferenceExport:
    base_side, head_side = (
        replace(export_of(stacks, funcs=FUNCS, hidden_us=us, releases=(release,)), views=views)
        for stacks, us, release, views in (
            (base, hidden[0], "1.0.0", base_views),
            (head, hidden[1], "1.1.0", head_views),
        )
    )
    query = "base_release=1.0.0&head_release=1.1.0"
    return DifferenceExport(
        project="shop",
        query=query,
        base=base_side,
        head=head_side,
        link="https://flame.example/c",
        verdict="1.1.0 made /cart slower.",
    )


def write(export: DifferenceExport) -> dict[str, Any]:  # a foreign file, as JSON gave it
    return load_good(b"".join(write_difference(export)))


def path_lines(profile: dict[str, Any], thread: int = 0) -> list[str]:
    """Returns a line per call path: the weight of its samples, and the path."""
    shared, samples = profile["shared"], profile["threads"][thread]["samples"]
    lines = []
    for stack, rows in groupby(zip(samples["stack"], samples["weight"], strict=True), key=lambda row: row[0]):
        weight, names, at = sum(weight for _, weight in rows), [], stack
        while at is not None:
            func = shared["frameTable"]["func"][shared["stackTable"]["frame"][at]]
            names.append(shared["stringArray"][shared["funcTable"]["name"][func]])
            offset = shared["stackTable"]["prefixOffset"][at]
            at = at - offset if offset else None
        if names:
            lines.append(f"{weight:g} {' '.join(reversed(names))}")
    return lines


def test_the_largest_increase_comes_first_and_the_largest_decrease_last() -> None:
    profile = write(
        difference({"A": 2_000, "A B": 2_000, "C": 9_000}, {"A": 4_000, "A B": 12_000, "C": 2_000, "D": 4_000})
    )
    assert path_lines(profile) == ["2 A B", "1 D", "-4 C"]


def test_what_did_not_change_a_page_view_is_left_out() -> None:
    profile = write(difference({"A": 1_000, "A B": 3}, {"A": 2_000, "A B": 7}))
    assert path_lines(profile) == ["0.00025 A B"]


def test_a_caller_whose_callees_changes_cancel_out_stays_on_their_stacks() -> None:
    profile = write(difference({"A B": 1_000}, {"A C": 2_000}))
    assert path_lines(profile) == ["0.5 A C", "-0.5 A B"]


def test_hidden_time_has_a_difference_too() -> None:
    assert path_lines(write(difference({"A": 10}, {"A": 20}, hidden=(2_000, 0)))) == ["-1 (hidden)"]


def test_both_sides_are_there_by_themselves_a_page_view() -> None:
    profile = write(difference({"A": 2_000}, {"A": 2_000, "B": 400}, hidden=(0, 4_000)))
    assert [(t["name"], t["isMainThread"]) for t in profile["threads"]] == [
        ("Change per view", True),
        ("Head: 1.1.0", False),
        ("Base: 1.0.0", False),
    ]
    assert path_lines(profile, 1) == ["1 (hidden)", "0.5 A", "0.1 B"]
    assert path_lines(profile, 2) == ["1 A"]


def colours(profile: dict[str, Any]) -> dict[str, str]:
    """Returns the category of each call path, by path."""
    shared, by_path = profile["shared"], {}
    stacks, frames = shared["stackTable"], shared["frameTable"]
    paths: list[str] = []
    for frame, offset in zip(stacks["frame"], stacks["prefixOffset"], strict=True):
        name = shared["stringArray"][shared["funcTable"]["name"][frames["func"][frame]]]
        paths.append(f"{paths[len(paths) - offset]} {name}" if offset else name)
        by_path[paths[-1]] = profile["meta"]["categories"][frames["category"][frame]]["name"]
    return by_path


def with_samples(export: DifferenceExport, count: int) -> DifferenceExport:
    """Returns the difference with so many samples of each path."""
    sides = []
    for side in (export.base, export.head):
        samples = [count if us else 0 for us in side.tree.self_us]
        sides.append(replace(side, tree=replace(side.tree, self_samples=samples)))
    return replace(export, base=sides[0], head=sides[1])


def test_slower_paths_are_red_faster_ones_blue_and_the_rest_grey() -> None:
    export = difference(
        {"A B": 9_000_000, "A C": 1_000_000, "D": 8_000_000, "D D": 1_000},
        {"A B": 18_000_000, "A C": 9_000_000, "D": 4_000_000, "D D": 2_000},
    )
    profile = write(with_samples(export, 10_000))

    assert colours(profile) == {
        "A": "Slower",
        "A C": "Slower",
        "A B": "Within noise",
        "D": "Faster",
        "D D": "Within noise",
    }
    shown = {category["name"]: category["color"] for category in profile["meta"]["categories"]}
    assert (shown["Slower"], shown["Faster"], shown["Within noise"]) == ("red", "blue", "grey")


def test_a_change_that_few_samples_tell_is_within_noise() -> None:
    export = difference({"A": 50_000, "B": 50_000}, {"A": 100_000, "B": 180_000})

    assert colours(write(with_samples(export, 5)))["B"] == "Within noise"
    assert colours(write(with_samples(export, 500)))["B"] == "Slower"


def test_a_path_of_one_side_has_the_colour_of_its_change_in_all_tracks() -> None:
    profile = write(with_samples(difference({"A": 1_000, "A old": 9_000}, {"A": 2_000, "A new": 18_000}), 1_000))

    assert colours(profile) == {"A": "Within noise", "A new": "Slower", "A old": "Faster"}


def test_all_tracks_are_visible_and_the_difference_is_selected() -> None:
    meta = write(difference({"A": 1}, {"A": 1}))["meta"]
    assert (meta["initialVisibleThreads"], meta["initialSelectedThreads"]) == ([0, 1, 2], [0])


def test_the_difference_tells_what_it_is_and_of_how_many_views() -> None:
    meta = write(difference({"A": 1}, {"A": 1}))["meta"]
    extra = {section["label"]: {e["label"]: e["value"] for e in section["entries"]} for section in meta["extra"]}
    assert meta["arguments"] == "base_release=1.0.0&head_release=1.1.0"
    assert extra["Difference"]["Link"] == meta["sourceURL"] == "https://flame.example/c"
    assert (extra["Head: counts"]["Page views"], extra["Base: counts"]["Page views"]) == (4, 2)
    assert extra["Base"]["Releases"] == "1.0.0"


def test_a_side_without_views_is_said_to_be_empty() -> None:
    profile = write(difference({}, {"A": 1_000}, base_views=0))
    assert path_lines(profile) == ["0.25 A"]
    assert "The base has no page view" in json.dumps(profile["meta"]["extra"])


def test_different_intervals_are_named() -> None:
    export = difference({"A": 1}, {"A": 1})
    export = replace(export, base=replace(export.base, interval_ms=16.0))
    assert "Intervals differ" in json.dumps(write(export)["meta"]["extra"])


stacks = st.dictionaries(st.sampled_from(["A", "B", "A B", "A B C", "A C", "D", "D D"]), st.integers(0, 10**9))


@given(stacks, stacks, st.integers(0, 50), st.integers(0, 50), st.integers(0, 10**6), st.integers(0, 10**6))
def test_each_path_of_the_difference_is_head_minus_base(
    base: dict[str, int], head: dict[str, int], base_views: int, head_views: int, base_hidden: int, head_hidden: int
) -> None:
    export = difference(base, head, base_views=base_views, head_views=head_views, hidden=(base_hidden, head_hidden))
    profile = write(export)
    per_view = {
        path: head.get(path, 0) / max(head_views, 1) - base.get(path, 0) / max(base_views, 1)
        for path in base.keys() | head.keys()
    }
    per_view["(hidden)"] = head_hidden / max(head_views, 1) - base_hidden / max(base_views, 1)
    differences = {
        path: float(weight) * 1000 for weight, _, path in (line.partition(" ") for line in path_lines(profile))
    }
    assert differences.keys() == {
        path for path, us in per_view.items()
        if head.get(path, head_hidden if path == "(hidden)" else 0) * max(base_views, 1)
        != base.get(path, base_hidden if path == "(hidden)" else 0) * max(head_views, 1)
    }  # fmt: skip
    for path, us in differences.items():
        assert abs(us - per_view[path]) <= abs(us) * 1e-5 + 1e-3


@given(stacks, stacks)
def test_the_same_slices_give_the_same_bytes(base: dict[str, int], head: dict[str, int]) -> None:
    export = difference(base, head)
    assert list(write_difference(export)) == list(write_difference(export))


def test_the_verdict_stands_first_in_what_describes_a_difference() -> None:
    sections = write(difference({"A": 1}, {"A": 1}))["meta"]["extra"]
    assert sections[0]["label"] == "Difference"
    first = sections[0]["entries"][0]
    assert (first["label"], first["value"]) == ("Verdict", "1.1.0 made /cart slower.")
