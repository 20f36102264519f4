"""Firefox's processed profiles: old and new tables, native threads, weights, and our own exports."""

from pathlib import Path
from typing import Any

import pytest

from profcore.errors import Reason
from profcore.formats.firefox.writer import write_profile
from profcore.formats.importers.firefox.profile import NEWEST_VERSION
from profcore.formats.importers.shapes import FileError
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Mark
from tests.format_judges import find_newest_firefox_version, upgrade_firefox_profile
from tests.profcore.formats.builders import export_of
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

LINES = [
    "0 main",
    "10 main render",
    "20 main render price",
    "30 main render price",
    "40 -",
    "50 main render setTimeout",
    "60 main render [gc]",
    "70 -",
]


def test_functions_come_with_their_definitions_and_the_engines_work_as_markers() -> None:
    envelope = read_envelope(sample("firefox-v66.json"))

    assert lines(envelope) == LINES
    assert places(envelope) == PLACES


def test_native_threads_are_left_out_and_named() -> None:
    (imported,) = read(sample("firefox-v66.json"))

    assert (imported.completed.envelope.timeOrigin, imported.completed.envelope.sampleInterval) == (
        1_795_256_990_000,
        10,
    )
    assert imported.completed.envelope.release == "given-release"
    assert any("native" in note for note in imported.completed.notes)


def older(version: int) -> Any:  # JSON
    """Returns the sample in the shape of an older version."""
    profile = sample_json("firefox-v66.json")
    profile["meta"]["preprocessedProfileVersion"] = version
    shared = profile["shared"]
    stacks, funcs = shared["stackTable"], shared["funcTable"]
    if version < 66:
        offsets = stacks.pop("prefixOffset")
        stacks["prefix"] = [index - offset if offset else None for index, offset in enumerate(offsets)]
    if version < 60:
        for thread in profile["threads"]:
            thread |= {name: shared[name] for name in ("stackTable", "frameTable", "funcTable")}
        for name in ("stackTable", "frameTable", "funcTable"):
            del shared[name]
    if version < 58:
        filenames = shared.pop("sources")["filename"]
        funcs["fileName"] = [None if source is None else filenames[source] for source in funcs.pop("source")]
    if version < 56:
        strings = shared.pop("stringArray")
        for thread in profile["threads"]:
            thread["stringArray"] = strings
    if version < 50:
        for thread in profile["threads"]:
            at, times = 0, []
            for delta in thread["samples"].pop("timeDeltas"):
                at += delta
                times.append(at)
            thread["samples"]["time"] = times
    return profile


@pytest.mark.parametrize("version", [30, 49, 55, 57, 59, 65, 70])
def test_every_layout_of_the_tables_gives_the_same_trace(version: int) -> None:
    envelope = read_envelope(older(version))

    assert lines(envelope) == LINES
    assert places(envelope) == PLACES


@pytest.mark.parametrize(("version", "way_out"), [(29, "Open it in the Firefox Profiler"), (76, "A newer Fieldflame")])
def test_a_version_beyond_those_known_is_refused_with_a_way_out(version: int, way_out: str) -> None:
    with pytest.raises(FileError, match=rf"This is version {version}, and versions 30 to 75 .*{way_out}") as caught:
        read(older(version))
    assert caught.value.path == "$.meta.preprocessedProfileVersion"


@pytest.mark.parametrize("name", ["firefox-v66.json", "ours"])
def test_what_mozillas_own_upgraders_make_of_a_profile_gives_the_same_trace(name: str, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(sample(name) if name != "ours" else b"".join(write_profile(export_of(OURS, hidden_us=30_000))))
    before = read_envelope(path.read_bytes())

    profiles = upgrade_firefox_profile(path)

    assert [one["meta"]["preprocessedProfileVersion"] for one in profiles] == list(range(67, NEWEST_VERSION + 1))
    for profile in profiles:
        after = read_envelope(profile)
        assert (lines(after), places(after)) == (lines(before), places(before))


def test_mozillas_reader_here_knows_no_newer_version_than_ours() -> None:
    assert find_newest_firefox_version() == NEWEST_VERSION


OURS = {"main": 10_000, "main render": 20_000, "main render setTimeout": 10_000, "tick": 20_000}


def test_a_profile_as_firefox_captures_it_is_refused_with_a_way_out() -> None:
    with pytest.raises(FileError, match="save it from there"):
        read({"meta": {"version": 30, "startTime": 1}, "libs": [], "threads": [], "processes": []})


def test_a_difference_is_refused() -> None:
    profile = sample_json("firefox-v66.json")
    samples = profile["threads"][0]["samples"]
    samples |= {"weight": [-1.0] * 8, "weightType": "tracing-ms"}

    with pytest.raises(FileError, match="difference") as caught:
        read(profile)
    assert caught.value.path == "$.threads[0].samples.weight"


@pytest.mark.parametrize("weight_type", ["bytes", "samples"])
def test_weights_that_are_no_times_are_refused(weight_type: str) -> None:
    profile = sample_json("firefox-v66.json")
    profile["threads"][0]["samples"] |= {"weight": [3] * 8, "weightType": weight_type}

    with pytest.raises(FileError, match="are not times"):
        read(profile)


def _broken(change: str) -> Any:
    profile = sample_json("firefox-v66.json")
    shared, samples = profile["shared"], profile["threads"][0]["samples"]
    if change == "stack":
        samples["stack"][2] = 99
    elif change == "negative":
        samples["stack"][2] = -1
    elif change == "offset":
        shared["stackTable"]["prefixOffset"][0] = 5
    elif change == "frame":
        shared["stackTable"]["frame"][1] = 99
    elif change == "string":
        shared["funcTable"]["name"][0] = -3
    elif change == "times":
        samples["timeDeltas"].pop()
    return profile


@pytest.mark.parametrize(
    ("change", "reason", "path"),
    [
        ("stack", Reason.DANGLING_ID, "$.threads[0].samples.stack[2]"),
        ("negative", Reason.DANGLING_ID, "$.threads[0].samples.stack[2]"),
        ("offset", Reason.PARENT_ORDER, "$.threads[0].stackTable"),
        ("frame", Reason.DANGLING_ID, "$.threads[0].samples.stack[0]"),
        ("string", Reason.DANGLING_ID, "$.threads[0].samples.stack[0]"),
        ("times", Reason.INVALID_VALUE, "$.threads[0].samples.time"),
    ],
)
def test_a_fault_is_named_by_its_path(change: str, reason: Reason, path: str) -> None:
    assert read_fault(_broken(change)) == (reason, path)


def test_hidden_time_of_our_own_exports_stays_hidden() -> None:
    profile = sample_json("firefox-v66.json")
    profile["meta"]["categories"][4]["name"] = "Hidden"
    profile["shared"]["frameTable"]["category"][5] = 4
    samples = profile["threads"][0]["samples"]
    samples |= {"weight": [10.0, 10, 10, 10, 250, 10, 10, 0], "weightType": "tracing-ms"}

    envelope = read_envelope(profile)
    parts = fold_trace(envelope, page="/", funcs=FuncTable()).parts
    assert envelope.marks == [Mark("longtask", 40, 250)]
    assert (parts.js_us, parts.hidden_us, parts.idle_us, parts.unobserved_us) == (60_000, 250_000, 0, 0)
