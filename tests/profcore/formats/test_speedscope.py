"""speedscope files: weights, gaps, places."""

import json
from typing import Any

from profcore.formats.slice import ExportFunc, ExportOriginal, SliceExport
from profcore.formats.speedscope import write_slice
from tests.profcore.formats.builders import URI, export_of


def load(export: SliceExport) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(b"".join(write_slice(export)))
    return document


def test_samples_are_stacks_root_first_and_idle_time_is_a_gap() -> None:
    document = load(export_of({"main": 1_000, "main render": 3_000}, hidden_us=500, idle_us=700))

    (profile,) = document["profiles"]
    names = [frame["name"] for frame in document["shared"]["frames"]]
    assert [[names[frame] for frame in stack] for stack in profile["samples"]] == [
        ["main"],
        ["main", "render"],
        ["(hidden)"],
        [],
    ]
    assert profile["weights"] == [1_000, 3_000, 500, 700]
    assert (profile["name"], profile["unit"], profile["endValue"]) == ("/checkout", "microseconds", 5_200)
    assert document["name"] == "shop 1.1.0 /checkout"


def test_a_frame_has_its_place_from_one_and_the_original_where_it_is_known() -> None:
    funcs = [
        ExportFunc(label="f", name="f", uri=URI, line=3, column=7),
        ExportFunc(label="push", name="push"),
        ExportFunc(label="g", name="g", uri=URI, line=1, column=900, original=ExportOriginal("src/app.ts", 12, 3)),
    ]

    frames = load(export_of({"f": 3, "push": 2, "g": 1}, funcs=funcs))["shared"]["frames"]

    assert frames == [
        {"name": "f", "file": URI, "line": 3, "col": 7},
        {"name": "push"},
        {"name": "g", "file": "src/app.ts", "line": 12, "col": 3},
    ]
