"""`.cpuprofile`: V8's shapes, 0-based positions, steps as weights."""

import json
from typing import Any

from profcore.formats.chrome.cpuprofile import write_slice
from profcore.formats.chrome.nodes import MAX_SAMPLES
from profcore.formats.slice import ExportFunc, ExportOriginal, SliceExport
from tests.profcore.formats.builders import URI, export_of


def load(export: SliceExport) -> dict[str, Any]:
    profile: dict[str, Any] = json.loads(b"".join(write_slice(export)))
    return profile


def test_the_heaviest_path_comes_first_and_every_sample_lasts_to_the_next() -> None:
    profile = load(export_of({"main": 1_000, "main render": 3_000, "tick": 500}, hidden_us=700, idle_us=900))

    names = {node["id"]: node["callFrame"]["functionName"] for node in profile["nodes"]}
    assert [names[node] for node in profile["samples"]] == ["main", "render", "(hidden)", "tick", "(idle)", "(root)"]
    assert profile["timeDeltas"] == [0, 1_000, 3_000, 700, 500, 900]
    assert (profile["startTime"], profile["endTime"]) == (1_000_000, 1_006_100)


def test_a_long_run_is_even_steps_with_the_same_sum() -> None:
    profile = load(export_of({"main": 45_001, "tick": 3_000}))

    assert profile["timeDeltas"] == [0, 9_000, 9_000, 9_000, 9_000, 9_001, 3_000]
    assert len(set(profile["samples"][:5])) == 1


def test_a_slice_of_years_has_a_bounded_number_of_samples() -> None:
    profile = load(export_of({"main": 10**14, "tick": 3_000}))

    assert len(profile["samples"]) == MAX_SAMPLES + 2
    assert sum(profile["timeDeltas"]) == 10**14 + 3_000


def test_nodes_are_a_tree_below_the_root_and_count_their_samples() -> None:
    profile = load(export_of({"main": 1, "main render": 3}))

    root, idle, main, render = profile["nodes"]
    assert (root["callFrame"]["functionName"], root["children"]) == ("(root)", [idle["id"], main["id"]])
    assert main["children"] == [render["id"]]
    assert [node["hitCount"] for node in profile["nodes"]] == [0, 0, 1, 1]


def test_positions_count_from_zero_and_a_built_in_has_none() -> None:
    funcs = [
        ExportFunc(label="f", name="f", uri=URI, line=3, column=7),
        ExportFunc(label="push", name="push"),
        ExportFunc(label="g", name="g", uri=URI, line=None, column=None),
    ]
    profile = load(export_of({"f": 3, "push": 2, "g": 1}, funcs=funcs))

    frames = [node["callFrame"] for node in profile["nodes"][2:]]
    assert [(frame["url"], frame["lineNumber"], frame["columnNumber"]) for frame in frames] == [
        (URI, 2, 6),
        ("", -1, -1),
        (URI, -1, -1),
    ]
    assert [frame["scriptId"] for frame in frames] == ["1", "0", "1"]


def test_a_mapped_function_keeps_the_place_in_its_script_which_devtools_maps_itself() -> None:
    mapped = ExportFunc(
        label="original", name="a", uri=URI, line=1, column=900, original=ExportOriginal("src/app.ts", 12, 3)
    )
    (frame,) = [node["callFrame"] for node in load(export_of({"original": 1}, funcs=[mapped]))["nodes"][2:]]

    assert (frame["functionName"], frame["url"], frame["columnNumber"]) == ("original", URI, 899)


def test_a_page_cannot_pass_its_functions_for_idle_time() -> None:
    profile = load(
        export_of(
            {"(idle)": 5, "(garbage": 1},
            funcs=[ExportFunc(label="(idle)", name="(idle)", uri=URI, line=1, column=1)],
            idle_us=7,
        )
    )

    names = [node["callFrame"]["functionName"] for node in profile["nodes"]]
    assert names == ["(root)", "(idle)", "(idle) [page]", "(garbage"]


def test_what_the_samples_cannot_say_is_written_next_to_them() -> None:
    details = load(export_of({"main": 1_000}, unobserved_us=2_000, profiler_us=3_000))["fieldflame"]

    assert (details["js_ms"], details["unobserved_ms"], details["profiler_ms"], details["span_ms"]) == (
        1.0,
        2.0,
        3.0,
        6.0,
    )
    assert (details["project"], details["releases"], details["views"]) == ("shop", ["1.1.0"], 3)
