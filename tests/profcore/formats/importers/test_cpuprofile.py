"""`.cpuprofile`: 0-based positions, V8's own nodes, deltas in µs."""

from typing import Any

import pytest

from profcore.errors import Reason
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable, read_func_keys
from tests.profcore.formats.importers.reading import (
    PLACES,
    lines,
    places,
    read,
    read_envelope,
    read_fault,
    sample,
    sample_json,
)


def test_v8s_own_nodes_become_markers_and_positions_one_based() -> None:
    envelope = read_envelope(sample("lab.cpuprofile"))

    assert lines(envelope) == [
        "0 main",
        "10 main render",
        "20 main render price",
        "30 main render price",
        "40 -",
        "50 main render setTimeout",
        "60 - [gc]",
        "70 - [other]",
        "80 -",
        "90 -",  # its end
    ]
    assert places(envelope) == PLACES


def test_the_file_tells_neither_time_nor_page() -> None:
    (imported,) = read(sample("lab.cpuprofile"))

    assert imported.completed.missing == ("release", "timeOrigin", "page", "sampleInterval", "viewId")


def test_a_pages_own_function_may_be_called_idle() -> None:
    profile = sample_json("lab.cpuprofile")
    profile["nodes"][4]["callFrame"]["functionName"] = "(idle)"
    profile["nodes"][7]["callFrame"]["functionName"] = "(program)"

    shown = lines(read_envelope(profile))
    assert shown[0] == "0 (idle)"
    assert shown[5] == "50 (idle) render (program)"


def test_a_name_that_looks_misread_stays_as_the_file_has_it() -> None:
    profile = sample_json("lab.cpuprofile")
    for index, name in ((4, "Ã©"), (5, "é"), (6, "日本"), (7, "a\0b")):
        profile["nodes"][index]["callFrame"]["functionName"] = name

    keys = read_func_keys(read_envelope(profile).trace, page_url=None, page="/")
    assert sorted(key.name for key in keys) == sorted(["Ã©", "é", "日本", "a\ufffdb"])


def test_samples_may_step_back_in_time() -> None:
    profile = sample_json("lab.cpuprofile")
    profile["timeDeltas"][2] = -3_000

    assert lines(read_envelope(profile))[2] == "7 main render price"


@pytest.mark.parametrize(
    ("end_us", "last"),
    [
        (1_000_095_000, ["80 -", "95 -"]),
        (1_000_080_000, ["80 -", "80 -"]),
        (1_000_079_000, ["80 -", "80 -"]),  # the recording had ended when the last sample was taken
        (999_000_000, ["70 - [other]", "80 -"]),  # before its start: it says nothing
        (0, ["70 - [other]", "80 -"]),
        (10**18, ["70 - [other]", "80 -"]),  # longer than a trace may last
        (None, ["70 - [other]", "80 -"]),
    ],
)
def test_the_last_sample_lasts_until_the_end(end_us: int | None, last: list[str]) -> None:
    profile = {**sample_json("lab.cpuprofile"), "startTime": 1_000_000_000, "endTime": end_us}
    assert lines(read_envelope(profile))[-2:] == last


def test_a_profile_of_one_sample_has_the_time_until_its_end() -> None:
    profile = sample_json("lab.cpuprofile")
    profile |= {"startTime": 0, "endTime": 1_100_000, "samples": [7], "timeDeltas": [100_000]}
    envelope = read_envelope(profile)
    assert lines(envelope) == ["100 main render price", "1100 -"]
    assert fold_trace(envelope, page="/", funcs=FuncTable()).parts.js_us == 1_000_000


def test_callees_that_the_file_does_not_have_are_left_out_and_counted() -> None:
    profile = sample_json("lab.cpuprofile")
    profile["nodes"][0]["children"] += [99, 98]
    profile["nodes"][2].setdefault("children", []).append(97)

    (imported,) = read(profile)

    assert lines(imported.completed.envelope) == lines(read_envelope(sample("lab.cpuprofile")))
    assert "The file names 3 call nodes that are not in it; they were left out." in imported.completed.notes


@pytest.mark.parametrize("count", [1, 2])
def test_samples_of_unknown_nodes_have_no_stack_and_are_counted(count: int) -> None:
    profile = sample_json("lab.cpuprofile")
    profile["samples"][1 : 1 + count] = [99] * count
    (imported,) = read(profile)

    assert lines(imported.completed.envelope)[: 2 + count] == [
        "0 main",
        *[f"{10 * number} -" for number in range(1, 1 + count)],
        f"{10 * (1 + count)} main render price",
    ]
    assert any(f"{count} sample" in note and "without a stack" in note for note in imported.completed.notes)


def _broken(change: str) -> Any:
    profile = sample_json("lab.cpuprofile")
    nodes = profile["nodes"]
    if change == "twin":
        nodes[1]["id"] = 3
    elif change == "cycle":
        nodes[0]["children"], nodes[6]["children"] = [2, 3, 4], [5]
    elif change == "callers":
        nodes[1]["children"] = [6]
    elif change == "samples":
        profile["samples"] = [99 for _ in profile["samples"]]
    elif change == "deltas":
        profile["timeDeltas"].pop()
    return profile


@pytest.mark.parametrize(
    ("change", "reason", "path"),
    [
        ("twin", Reason.INVALID_VALUE, "$.nodes"),
        ("cycle", Reason.INVALID_VALUE, "$.nodes"),
        ("callers", Reason.INVALID_VALUE, "$.nodes[4]"),
        ("samples", Reason.DANGLING_ID, "$.samples[0]"),
        ("deltas", Reason.INVALID_VALUE, "$.samples"),
    ],
)
def test_a_fault_is_named_by_its_path(change: str, reason: Reason, path: str) -> None:
    assert read_fault(_broken(change)) == (reason, path)
