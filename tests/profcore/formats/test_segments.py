"""Segments as values: their sum, and a slice split by category."""

from dataclasses import replace

import pytest

from profcore.formats.segments import split_by_category, sum_exports
from profcore.formats.slice import ExportFunc, SliceExport
from profcore.sums.calltree import picture
from tests.profcore.formats.builders import URI, export_of

OWN = ExportFunc(label="main", name="main", uri=URI, line=1, column=1, category="first-party")
LIBRARY = ExportFunc(
    label="render", name="render", uri="https://shop.example/vendor.js", line=1, column=1, category="library"
)
MAP = ExportFunc(label="map", name="map")
FUNCS = [OWN, LIBRARY, MAP]


def pictured(export: SliceExport) -> str:
    return picture(export.tree, [func.label for func in export.funcs])


def test_equal_paths_of_equal_funcs_are_one_in_the_sum() -> None:
    first = export_of({"main": 10, "main render": 20}, funcs=FUNCS, hidden_us=5, releases=("1",), pages=("/b",))
    second = export_of({"main render": 1, "map": 2}, funcs=FUNCS[::-1], releases=("2",), pages=("/a",))
    total = sum_exports([first, second], query="page=/a")
    assert pictured(total) == "\n".join(
        ["- main (total: 31, self: 10)", "  - render (total: 21, self: 21)", "- map (total: 2, self: 2)"]
    )
    assert (total.time.js_us, total.time.hidden_us, total.views, total.query) == (33, 5, 6, "page=/a")
    assert (total.releases, total.pages) == (["1", "2"], ["/a", "/b"])


def test_the_sums_interval_is_that_of_most_traces_and_its_bounds_hold_all() -> None:
    few = replace(export_of({"main": 1}), traces=2, interval_ms=5.0, started_at_ms=3, ended_at_ms=9)
    many = replace(export_of({"main": 1}), traces=3, interval_ms=16.0, started_at_ms=4, ended_at_ms=10)
    total = sum_exports([few, many], query="")
    assert (total.interval_ms, total.started_at_ms, total.ended_at_ms) == (16.0, 3, 10)


def test_there_is_no_sum_of_nothing() -> None:
    with pytest.raises(ValueError, match="there are no slices to sum"):
        sum_exports([], query="")


def test_a_category_has_the_time_on_top_of_the_stack_with_its_callers() -> None:
    whole = export_of({"main": 10, "main render": 20, "main render map": 3, "odd": 4}, funcs=FUNCS, hidden_us=9)
    cut = split_by_category(whole)
    assert [(label, part.time.js_us) for label, part in cut.segments] == [
        ("First party", 10),
        ("Library", 20),
        ("Unknown", 7),
    ]
    assert "- main (total: 20, self: 0)" in pictured(cut.segments[1][1])
    assert sum(part.time.js_us for _, part in cut.segments) == whole.time.js_us
    assert all(part.time.hidden_us == 0 for _, part in cut.segments)
