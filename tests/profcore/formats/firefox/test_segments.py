"""A slice with its segments: one track for each, below the whole, over the same tables."""

from typing import Any

import pytest

from profcore.formats.firefox.aggregate import MAX_VISIBLE
from profcore.formats.firefox.writer import write_profile, write_segments
from profcore.formats.slice import ExportFunc, SegmentedExport
from tests.profcore.formats.builders import URI, export_of
from tests.profcore.formats.firefox.lint import load_good, read_tree


def segmented(by: str = "page", count: int = 2) -> SegmentedExport:
    funcs = [
        ExportFunc(label=label, name=label, uri=URI, line=1, column=1)
        for label in ["main", *(f"f{n}" for n in range(count))]
    ]
    parts = [
        (f"/{n}", export_of({"main": 1_000 * (n + 1), f"main f{n}": 500}, funcs=funcs, hidden_us=n))
        for n in range(count)
    ]
    stacks = {f"main f{n}": 500 for n in range(count)} | {"main": sum(1_000 * (n + 1) for n in range(count))}
    return SegmentedExport(by, export_of(stacks, funcs=funcs, hidden_us=sum(range(count)), pages=("/0", "/1")), parts)


def write(export: SegmentedExport) -> dict[str, Any]:  # a foreign file, as JSON gave it
    return load_good(b"".join(write_segments(export)))


def test_the_whole_comes_first_and_the_segments_below_it_in_their_order() -> None:
    threads = write(segmented())["threads"]
    assert [(thread["name"], thread["isMainThread"], thread["pid"]) for thread in threads] == [
        ("All: 2 pages", True, "0"),
        ("page: /0", False, "0"),
        ("page: /1", False, "0"),
    ]


def test_each_track_has_the_time_of_its_part_and_the_whole_is_their_sum() -> None:
    profile = write(segmented())
    totals = [sum(read_tree(profile, thread)[0].self_us) for thread in range(3)]
    assert totals == [4_001, 1_500, 2_501]
    assert [sum(w * 1000 for w in t["samples"]["weight"] if w) for t in profile["threads"]] == pytest.approx(totals)


def test_a_function_of_several_segments_is_one_row() -> None:
    profile = write(segmented(count=3))
    strings = profile["shared"]["stringArray"]
    names = [strings[name] for name in profile["shared"]["funcTable"]["name"]]
    assert sorted(names) == ["(hidden)", "f0", "f1", "f2", "main"]


def test_the_whole_is_selected_and_as_many_tracks_are_visible_as_the_viewer_shows() -> None:
    meta = write(segmented(count=30))["meta"]
    assert meta["initialSelectedThreads"] == [0]
    assert meta["initialVisibleThreads"] == list(range(MAX_VISIBLE))
    assert meta["keepProfileThreadOrder"] is True


def test_the_axis_is_as_long_as_the_longest_track() -> None:
    assert write(segmented())["meta"]["profilingEndTime"] == pytest.approx(4.001 + 10)


def test_the_segments_are_listed_with_their_time_and_views() -> None:
    extra = {section["label"]: section["entries"] for section in write(segmented())["meta"]["extra"]}
    assert [(entry["label"], entry["value"]) for entry in extra["Segments"]] == [
        ("page: /0", 1.5),
        ("page: /1", 2.5),
        ("page: /0, page views", 3),
        ("page: /1, page views", 3),
    ]


def test_categories_have_a_caveat_of_their_own_and_no_views() -> None:
    extra = {section["label"]: section["entries"] for section in write(segmented("category"))["meta"]["extra"]}
    assert len(extra["Segments"]) == 2
    assert extra["How to read this"][0]["label"] == "Segments"


def test_a_segment_without_a_word_has_one() -> None:
    whole = export_of({"main": 1})
    assert write(SegmentedExport("release", whole, [("", whole)]))["threads"][1]["name"] == "release: (none)"


def test_a_slice_without_segments_is_the_whole_alone() -> None:
    export = segmented(count=0)
    (thread,) = write(export)["threads"]
    alone = load_good(b"".join(write_profile(export.whole)))["threads"][0]
    assert thread["samples"] == alone["samples"]
