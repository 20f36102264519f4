"""The lint itself: it passes a good profile and has a word for each way to break one."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from profcore.formats.firefox.writer import write_profile
from tests.profcore.formats.builders import export_of
from tests.profcore.formats.lint import find_faults

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
    ("samples.weight has 4 rows, not 5", lambda p: p["threads"][0]["samples"]["weight"].pop()),
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
    ("no category is grey", lambda p: p["meta"]["categories"][0].update(color="blue")),
    ("the first grey category is not Other", lambda p: p["meta"]["categories"][0].update(name="Rest")),
    ("none of the palette", lambda p: p["meta"]["categories"][1].update(color="pink")),
    ("first subcategory of Idle is not Other", lambda p: p["meta"]["categories"][1].update(subcategories=[])),
    ("category[0] = 9/0 is no category", lambda p: set_category(p, 9)),
    ("disagree on their category", lambda p: add_frame(p["shared"]["frameTable"])),
    ("a tid occurs twice", lambda p: p["threads"].append(p["threads"][0])),
    ("pid is no text", lambda p: p["threads"][0].update(pid=1)),
    ("initialVisibleThreads names no thread", lambda p: p["meta"].update(initialVisibleThreads=[1])),
    ("stack[0] = 4 is no row of stackTable", lambda p: p["threads"][0]["samples"]["stack"].__setitem__(0, 4)),
    ("time runs backwards", lambda p: p["threads"][0]["samples"]["timeDeltas"].__setitem__(1, -1)),
    ("weightType 'ms' is unknown", lambda p: p["threads"][0]["samples"].update(weightType="ms")),
    ("closes the last one", lambda p: p["threads"][0]["samples"]["stack"].__setitem__(-1, 3)),
    ("beyond the end", lambda p: p["meta"].update(profilingEndTime=1)),
    ("more than one sample", lambda p: p["threads"][0]["samples"]["stack"].__setitem__(1, 0)),
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
