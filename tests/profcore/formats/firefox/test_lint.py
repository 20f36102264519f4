"""The lint itself: it accepts a good profile and has a message for each way to break one."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from profcore.formats.firefox.writer import write_profile, write_views
from tests.envelopes import make_envelope
from tests.profcore.formats.builders import export_of, timeline
from tests.profcore.formats.firefox.lint import find_faults

Break = Callable[[dict[str, Any]], object]  # breaks a profile as JSON holds it


def good_profile() -> dict[str, Any]:
    export = export_of({"main": 1_000, "main render": 2_000, "tick": 500}, hidden_us=700, idle_us=9_000)
    profile: dict[str, Any] = json.loads(b"".join(write_profile(export)))
    return profile


def test_a_good_profile_has_no_fault() -> None:
    assert find_faults(good_profile()) == []


BREAKS: list[tuple[str, Break]] = [
    ("lacks meta", lambda p: p.pop("meta")),
    ("meta.interval is no float", lambda p: p["meta"].update(interval=None)),
    ("Version is not 66", lambda p: p["meta"].update(preprocessedProfileVersion=70)),
    ("frameTable lacks ['inlineDepth']", lambda p: p["shared"]["frameTable"].pop("inlineDepth")),
    ("nativeSymbols lacks", lambda p: p["shared"].pop("nativeSymbols")),
    ("funcTable.name has 3 rows, not 4", lambda p: p["shared"]["funcTable"]["name"].pop()),
    ("samples.weight has 840 rows, not 841", lambda p: p["threads"][0]["samples"]["weight"].pop()),
    ("there is no thread", lambda p: p["threads"].clear()),
    ("threads[0] lacks ['pausedRanges']", lambda p: p["threads"][0].pop("pausedRanges")),
    ("frameTable.func[0] = 4 is no row", lambda p: p["shared"]["frameTable"]["func"].__setitem__(0, 4)),
    ("funcTable.resource[0] = -2 is no row", lambda p: p["shared"]["funcTable"]["resource"].__setitem__(0, -2)),
    ("sources.filename[0] = None is no row", lambda p: p["shared"]["sources"]["filename"].__setitem__(0, None)),
    ("lineNumber[0] = 0 is no 1-based", lambda p: p["shared"]["funcTable"]["lineNumber"].__setitem__(0, 0)),
    ("prefixOffset[0] = 1 leads out", lambda p: p["shared"]["stackTable"]["prefixOffset"].__setitem__(0, 1)),
    ("stringArray holds 'main' 2 times", lambda p: p["shared"]["stringArray"].append("main")),
    ("a lone surrogate", lambda p: p["shared"]["stringArray"].append("\ud800")),
    ("funcTable holds", lambda p: make_equal(p["shared"]["funcTable"])),
    ("no category is grey", lambda p: [category.update(color="blue") for category in p["meta"]["categories"]]),
    ("the first grey category is not Other", lambda p: p["meta"]["categories"][0].update(name="Rest")),
    ("none of the palette", lambda p: p["meta"]["categories"][1].update(color="pink")),
    ("first subcategory of First party is not Other", lambda p: p["meta"]["categories"][1].update(subcategories=[])),
    ("category[0] = 99/0 is no category", lambda p: set_category(p, 99)),
    ("disagree on their category", lambda p: add_frame(p["shared"]["frameTable"])),
    ("a tid occurs twice", lambda p: p["threads"].append(p["threads"][0])),
    ("pid is no text", lambda p: p["threads"][0].update(pid=1)),
    ("initialVisibleThreads names no thread", lambda p: p["meta"].update(initialVisibleThreads=[1])),
    ("stack[0] = 4 is no row of stackTable", lambda p: p["threads"][0]["samples"]["stack"].__setitem__(0, 4)),
    ("time runs backwards", lambda p: p["threads"][0]["samples"]["timeDeltas"].__setitem__(1, -1)),
    ("weightType 'ms' is unknown", lambda p: p["threads"][0]["samples"].update(weightType="ms")),
    ("closes the last one", lambda p: p["threads"][0]["samples"]["stack"].__setitem__(-1, 3)),
    ("beyond the end", lambda p: p["meta"].update(profilingEndTime=1)),
    ("the samples of a call path are apart", lambda p: p["threads"][0]["samples"]["stack"].__setitem__(2, 1)),
    ("wider than a thousandth", lambda p: p["threads"][0]["samples"]["weight"].__setitem__(1, 9)),
]


def make_equal(table: dict[str, Any]) -> None:
    for name, column in table.items():
        if name != "length":
            column[1] = column[0]


def set_category(profile: dict[str, Any], category: int) -> None:
    frames = profile["shared"]["frameTable"]
    frames["category"][0], frames["subcategory"][0] = category, 0
    profile["meta"]["categories"] += [{"name": "More", "color": "red", "subcategories": ["Other"]}] * 2


def add_frame(table: dict[str, Any]) -> None:
    for name, column in table.items():
        if name != "length":
            column.append(column[0])
    table["category"][-1] = 0
    table["length"] += 1


@pytest.mark.parametrize(("sentence", "break_it"), BREAKS, ids=[sentence for sentence, _ in BREAKS])
def test_a_broken_profile_is_found_out(sentence: str, break_it: Break) -> None:
    profile = good_profile()
    break_it(profile)

    assert any(sentence in fault for fault in find_faults(profile)), find_faults(profile)


def view_profile() -> dict[str, Any]:
    mark = {"type": "interaction", "name": "click", "start": 5, "duration": 12, "odd": 1}
    export = timeline(make_envelope(columns="A\nA B\n-", marks=[mark, {"type": "mark", "name": "x", "start": 1}]))
    profile: dict[str, Any] = json.loads(b"".join(write_views(export)))
    return profile


def markers_of(profile: dict[str, Any]) -> dict[str, list[Any]]:
    markers: dict[str, list[Any]] = profile["threads"][0]["markers"]
    return markers


def row_of(profile: dict[str, Any], schema: str) -> int:
    return [values["type"] for values in markers_of(profile)["data"]].index(schema)


def values_of(profile: dict[str, Any], schema: str = "Interaction") -> dict[str, Any]:
    values: dict[str, Any] = markers_of(profile)["data"][row_of(profile, schema)]
    return values


def schema_of(profile: dict[str, Any], name: str) -> dict[str, Any]:
    return next(schema for schema in profile["meta"]["markerSchema"] if schema["name"] == name)


VIEW_BREAKS: list[tuple[str, Break]] = [
    ("not in order of start", lambda p: markers_of(p)["startTime"].reverse()),
    ("is no text", lambda p: markers_of(p)["name"].__setitem__(0, 9_999)),
    ("category[0] = 99 is no category", lambda p: markers_of(p)["category"].__setitem__(0, 99)),
    ("does not fit its times", lambda p: markers_of(p)["phase"].__setitem__(0, 0)),
    ("ends before it starts", lambda p: markers_of(p)["endTime"].__setitem__(row_of(p, "Interaction"), 1)),
    ("is of no schema", lambda p: values_of(p).update(type="Nothing")),
    ("is no field of its schema", lambda p: values_of(p).update(extra=1)),
    ("is no string", lambda p: values_of(p).update(event=1)),
    ("is no table of 2 columns", lambda p: values_of(p).update(details=[["odd"]])),
    ("holds 1, no string", lambda p: values_of(p).update(details=[["odd", 1]])),
    ("a marker schema occurs twice", lambda p: p["meta"]["markerSchema"].append(p["meta"]["markerSchema"][0])),
    ("lacks fields", lambda p: schema_of(p, "Trace").pop("fields")),
    ("is displayed in 'everywhere'", lambda p: schema_of(p, "Trace")["display"].append("everywhere")),
    ("has the format 'text'", lambda p: schema_of(p, "Trace")["fields"][0].update(format="text")),
    ("shows no field", lambda p: schema_of(p, "LongTask")["graphs"][0].update(key="none")),
    ("has the color 'pink'", lambda p: schema_of(p, "LongTask")["graphs"][0].update(color="pink")),
    ("which is nothing", lambda p: schema_of(p, "Trace").update(chartLabel="{marker.data.none}")),
    ("which is nothing", lambda p: schema_of(p, "Trace").update(chartLabel="{marker.name")),
    ("threadCPUDelta has 3 rows, not 4", lambda p: p["threads"][0]["samples"]["threadCPUDelta"].pop()),
    ("is no part of its", lambda p: p["threads"][0]["samples"]["threadCPUDelta"].__setitem__(1, 11_000)),
    ("the unit of threadCPUDelta is not told", lambda p: p["meta"].pop("sampleUnits")),
    ("has 2 main threads", lambda p: p["threads"].append({**p["threads"][0], "tid": 2})),
    ("have no main thread", lambda p: p["threads"][0].update(isMainThread=False)),
    ("no thread is visible and selected", lambda p: p["meta"].update(initialSelectedThreads=[])),
    ("stackTable holds", lambda p: p["shared"]["stackTable"].update(length=3, frame=[0, 1, 1], prefixOffset=[0, 1, 2])),
]


@pytest.mark.parametrize(("sentence", "break_it"), VIEW_BREAKS, ids=range(len(VIEW_BREAKS)))
def test_a_broken_profile_of_a_view_is_found_out(sentence: str, break_it: Break) -> None:
    profile = view_profile()
    assert find_faults(profile) == []
    break_it(profile)

    assert any(sentence in fault for fault in find_faults(profile)), find_faults(profile)
