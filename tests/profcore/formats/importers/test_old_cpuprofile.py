"""The `.cpuprofile` of Chrome up to 57 and of v8-profiler, and answers of the DevTools protocol."""

from typing import Any

import pytest

from profcore.errors import Reason
from tests.profcore.formats.importers.reading import PLACES, lines, places, read, read_envelope, read_fault, sample_json

NEW = sample_json("lab.cpuprofile")


def old(**changes: object) -> dict[str, Any]:
    """Returns the sample in the old shape."""
    by_id = {node["id"]: node for node in NEW["nodes"]}

    def grow(node: dict[str, Any]) -> dict[str, Any]:
        frame = node["callFrame"]
        place = {"lineNumber": frame["lineNumber"] + 1, "columnNumber": frame["columnNumber"] + 1, "url": frame["url"]}
        callees = [grow(by_id[callee]) for callee in node.get("children", ())]
        return {"id": node["id"], "functionName": frame["functionName"], **place, "children": callees, "hitCount": 1}

    at, timestamps = 5_000_000_000, []
    for delta in NEW["timeDeltas"]:
        at += delta
        timestamps.append(at)
    file = {"head": grow(NEW["nodes"][0]), "startTime": 5_000, "endTime": 5_000.09}
    return {**file, "samples": NEW["samples"], "timestamps": timestamps, **changes}


def test_the_tree_of_old_files_is_read_as_the_nodes_of_new_ones() -> None:
    envelope = read_envelope(old())
    assert lines(envelope) == lines(read_envelope(NEW))
    assert places(envelope) == PLACES


def test_an_end_whose_fraction_was_cut_says_nothing() -> None:
    assert lines(read_envelope(old(endTime=5_000)))[-2:] == ["70 - [other]", "80 -"]


def test_a_timestamp_more_is_the_end_of_the_last_sample() -> None:
    file = old(endTime=5_000)
    file["timestamps"].append(file["timestamps"][-1] + 7_000)
    assert lines(read_envelope(file))[-2:] == ["80 -", "87 -"]


def test_without_timestamps_samples_are_at_equal_steps() -> None:
    file = old()
    del file["timestamps"]
    assert [line.split()[0] for line in lines(read_envelope(file))] == [str(10 * at) for at in range(10)]


@pytest.mark.parametrize("wrap", [lambda p: {"profile": p}, lambda p: {"id": 7, "result": {"profile": p}}])
@pytest.mark.parametrize("profile", [NEW, old()], ids=["new", "old"])
def test_an_answer_of_the_protocol_is_read_as_its_profile(wrap: Any, profile: Any) -> None:
    assert lines(read_envelope(wrap(profile))) == lines(read_envelope(NEW))


def test_faults_are_named_by_their_path() -> None:
    assert read_fault(old(timestamps=[1])) == (Reason.INVALID_VALUE, "$.timestamps")
    assert read_fault({"profile": {**NEW, "timeDeltas": []}}) == (Reason.INVALID_VALUE, "$.profile.samples")
    assert read_fault({"result": {"profile": {**NEW, "samples": ["x"]}}})[1] == "$.result.profile.samples[0]"
    file = old(startTime=None)
    del file["timestamps"]
    assert read_fault(file) == (Reason.INVALID_VALUE, "$")


def test_a_profile_without_samples_is_none() -> None:
    assert read_fault({"head": {"id": 1}, "samples": []})[0] in (Reason.INVALID_VALUE, Reason.EMPTY_BODY)


def test_many_profiles_of_a_file_are_read() -> None:
    assert len(read([old(), {"profile": NEW}])) == 2
