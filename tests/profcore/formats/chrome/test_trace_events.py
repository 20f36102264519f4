"""Trace events: two threads of the same stacks, in the order and with the fields that each viewer needs."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from profcore.formats.chrome.trace_events import ORIGIN_US, ROWS_PER_CHUNK, write_slice
from profcore.formats.slice import ExportFunc, SliceExport
from tests.profcore.formats.builders import URI, export_of, export_tree


def load(export: SliceExport) -> dict[str, Any]:
    trace: dict[str, Any] = json.loads(b"".join(write_slice(export)))
    return trace


def test_every_event_has_what_viewers_ask_of_one() -> None:
    for event in load(export_of({"main": 1, "main render": 2}))["traceEvents"]:
        assert {"name", "cat", "ph", "pid", "tid", "ts", "args"} <= set(event)
        assert (event["ts"] == 0) is (event["ph"] == "M")


def test_slices_nest_as_calls_do_and_callers_come_first() -> None:
    trace = load(export_of({"main": 1_000, "main render": 3_000, "main render draw": 500, "tick": 100}, idle_us=9))

    slices = [
        (event["name"], event["ts"] - ORIGIN_US, event["dur"]) for event in trace["traceEvents"] if event["ph"] == "X"
    ]
    assert slices == [
        ("main (app.js:1:1)", 0, 4_500),
        ("render (app.js:2:1)", 1_000, 3_500),
        ("draw (app.js:3:1)", 4_000, 500),
        ("tick (app.js:4:1)", 4_500, 100),
    ]


def test_a_slice_tells_its_place_and_has_a_bracket_in_its_name() -> None:
    funcs = [
        ExportFunc(label="Layout", name="Layout"),
        ExportFunc(label="f", name="f", uri="https://shop.example/", line=4, column=None),
    ]
    trace = load(export_of({"Layout": 1, "f": 2}, funcs=funcs, hidden_us=1))

    shown = {event["name"]: event["args"] for event in trace["traceEvents"] if event["ph"] == "X"}
    assert shown == {
        "f (shop.example:4)": {"uri": "https://shop.example/", "line": 4},
        "Layout [built-in]": {},
        "(hidden)": {},
    }


def test_chunks_are_small_and_declare_nodes_before_samples_of_them() -> None:
    trace = load(export_tree([-1] * (3 * ROWS_PER_CHUNK), 50))

    known: set[int] = set()
    for event in trace["traceEvents"]:
        if event["name"] == "ProfileChunk":
            profile = event["args"]["data"].get("cpuProfile", {})
            for node in profile.get("nodes", ()):
                assert node.get("parent", 1) in known | {1}
                known.add(node["id"])
            assert set(profile.get("samples", ())) <= known
            assert len(profile.get("nodes", ())) <= ROWS_PER_CHUNK
            assert len(profile.get("samples", ())) == len(event["args"]["data"].get("timeDeltas", ()))


@pytest.mark.parametrize("label", ["ends in a backslash \\", 'and a quote \\"', r"\\n \\\\", "DEL \x7f", '"', "\n\\"])
def test_no_name_can_end_a_string_for_perfetto_and_none_changes(label: str) -> None:
    export = replace(
        export_of({"x": 1}, funcs=[ExportFunc(label="x", name=label, uri=URI, line=1, column=1)]),
        project=label,
        query=label,
    )
    export = replace(export, funcs=[replace(export.funcs[0], label=label)])

    body = b"".join(write_slice(export))

    assert not re.search(rb"\\\\|\x7f", body)
    trace = json.loads(body)
    assert trace["metadata"]["project"] == label
    assert [event["name"] for event in trace["traceEvents"] if event["ph"] == "X"] == [f"{label} (app.js:1:1)"]


def test_functions_that_differ_in_column_alone_have_scripts_of_their_own() -> None:
    # DevTools takes two calls in a row for one if script id, name and line are equal.
    funcs = [ExportFunc(label="t", name="t", uri=URI, line=2, column=column) for column in (10, 20)] + [
        ExportFunc(label="u", name="u", uri=URI, line=2, column=30)
    ]
    export = export_of({"u": 1}, funcs=funcs)
    export.tree.prefix[:], export.tree.func[:] = [-1, -1, -1], [0, 1, 2]
    export.tree.self_us[:], export.tree.self_samples[:], export.tree.hidden_us[:] = [3, 2, 1], [1, 1, 1], [0, 0, 0]

    nodes = [
        node["callFrame"]
        for event in load(export)["traceEvents"]
        if event["name"] == "ProfileChunk"
        for node in event["args"]["data"].get("cpuProfile", {}).get("nodes", ())[2:]
    ]
    assert [(node["functionName"], node["scriptId"]) for node in nodes] == [("t", "1"), ("t", "2"), ("u", "1")]
    assert {node["url"] for node in nodes} == {URI}
