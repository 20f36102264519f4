"""Chrome's trace events: profiles in chunks, long tasks, the page, the time."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from profcore.formats.importers.chrome import trace_events
from profcore.formats.importers.chrome.trace_events import NOTE_MAPS, Event
from profcore.formats.importers.shapes import FileError, Source
from profcore.trace.wire import Mark
from tests.profcore.formats.importers.reading import (
    LIMITS,
    PLACES,
    lines,
    places,
    read,
    read_envelope,
    sample,
    sample_json,
)


def test_the_chunks_of_a_profile_are_put_together() -> None:
    envelope = read_envelope(sample("trace-events.json"))

    assert lines(envelope) == lines(read_envelope(sample("lab.cpuprofile")))
    assert places(envelope) == PLACES


def test_the_trace_tells_its_time_its_page_and_its_long_tasks() -> None:
    envelope = read_envelope(sample("trace-events.json"))

    assert (envelope.timeOrigin, envelope.url) == (1_795_256_990_000, "https://shop.example/cart?coupon=1")
    assert envelope.marks == [Mark("longtask", 0, 72)]


def test_an_array_of_events_in_any_order_is_read_too() -> None:
    file = sample_json("trace-events.json")

    assert lines(read_envelope(file["traceEvents"][::-1])) == lines(read_envelope(file))


def test_numbers_may_be_texts() -> None:
    events = sample_json("trace-events.json")["traceEvents"]
    texts = [{**event, **{name: str(event[name]) for name in ("ts", "tid") if name in event}} for event in events]
    assert lines(read_envelope(texts)) == lines(read_envelope(events))


def test_one_event_may_hold_the_whole_profile() -> None:
    profile = sample_json("lab.cpuprofile")
    event = {"name": "CpuProfile", "ph": "I", "pid": 1, "tid": 1, "ts": 5, "args": {"data": {"cpuProfile": profile}}}

    assert lines(read_envelope([event])) == lines(read_envelope(sample("lab.cpuprofile")))


@pytest.mark.parametrize("has_outer", [True, False])
def test_steps_may_stand_beside_the_profile_within_it_or_at_both_places(has_outer: bool) -> None:
    events = sample_json("trace-events.json")["traceEvents"]
    expected = lines(read_envelope({"traceEvents": events}))
    for event in events:
        data = event["args"].get("data", {})
        if event["name"] == "ProfileChunk" and "timeDeltas" in data:
            data["cpuProfile"]["timeDeltas"] = data["timeDeltas"] if has_outer else data.pop("timeDeltas")

    assert lines(read_envelope(events)) == expected


def test_of_two_profiles_of_a_thread_the_one_with_more_samples_is_read() -> None:
    events = sample_json("trace-events.json")["traceEvents"]
    events.append({**events[2], "id": "0x2"})
    events.append({**events[3], "id": "0x2"})

    (imported,) = read(events)
    assert len(imported.completed.envelope.trace.samples) == 10
    assert any("Several profiles" in note for note in imported.completed.notes)


def test_the_last_sample_lasts_until_the_end_that_a_chunk_tells() -> None:
    events = sample_json("trace-events.json")["traceEvents"]
    chunks = [event for event in events if event["name"] == "ProfileChunk"]
    expected = lines(read_envelope(events))
    assert chunks[-1]["args"]["data"].pop("endTime") == 7_090_000
    assert lines(read_envelope(events)) == expected[:-1]
    for end_us, last in ((7_095_000, "95 -"), (7_070_000, "80 -")):
        closing = {**chunks[-1], "ts": chunks[-1]["ts"] + 1, "args": {"data": {"endTime": end_us}}}
        assert lines(read_envelope([*events, closing])) == [*expected[:-1], last]


def test_an_event_with_a_whole_profile_tells_its_end() -> None:
    profile = {**sample_json("lab.cpuprofile"), "startTime": 5_000_000, "endTime": 5_095_000}
    event = {"name": "CpuProfile", "ph": "I", "pid": 1, "tid": 1, "ts": 5, "args": {"data": {"cpuProfile": profile}}}
    assert lines(read_envelope([event]))[-2:] == ["80 -", "95 -"]


def test_source_maps_in_a_trace_are_said_to_be_unused() -> None:
    file = sample_json("trace-events.json")
    notes = []
    for maps in ([], [{"url": "https://shop.example/a.js", "sourceMap": {"version": 3, "mappings": "A," * 5_000_000}}]):
        (imported,) = read({**file, "metadata": {**file["metadata"], "sourceMaps": maps}})
        assert imported.completed.envelope.timeOrigin == 1_795_256_990_000
        notes.append(NOTE_MAPS in imported.completed.notes)
    assert notes == [False, True]


def test_two_threads_are_two_views() -> None:
    events = sample_json("trace-events.json")["traceEvents"]
    events += [{**event, "pid": 13} for event in events[2:4]]

    first, second = read(events)
    assert first.completed.envelope.viewId != second.completed.envelope.viewId
    assert (first.completed.envelope.url is None, second.completed.envelope.url) == (False, None)


def test_each_thread_has_its_own_long_tasks() -> None:
    events = sample_json("trace-events.json")["traceEvents"]
    (task,) = (event for event in events if event["name"] == "RunTask" and event["dur"] >= 50_000)
    events += [{**event, "pid": 13} for event in events[2:4]]
    events += [{**task, "pid": 13, "dur": 60_000}, {**task, "pid": 13, "tid": 99}]

    marks = [imported.completed.envelope.marks for imported in read(events)]
    assert marks == [[Mark("longtask", 0, 72)], [Mark("longtask", 0, 60)]]


class Counting(list[Event]):
    """A list of events that counts how often it is iterated."""

    passes = 0

    def __iter__(self) -> Iterator[Event]:
        self.passes += 1
        return super().__iter__()


def test_many_profiles_go_through_the_events_no_more_often_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    read_events = trace_events._read_events
    for more in (0, 7):
        events = sample_json("trace-events.json")["traceEvents"]
        events += [{**event, "pid": 100 + pid} for pid in range(more) for event in events[2:4]]
        source = Source("file", json.dumps(events).encode(), LIMITS)
        decoded, *others = read_events(source)
        counting = Counting(decoded)
        monkeypatch.setattr(trace_events, "_read_events", lambda _, given=(counting, *others): given)
        assert len(list(trace_events.TRACE_EVENTS.read(source))) == 1 + more
        passes.append(counting.passes)
    assert passes[0] == passes[1] > 0


def _nodes_of(event: dict[str, Any]) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = event["args"]["data"]["cpuProfile"]["nodes"]
    return nodes


@pytest.mark.parametrize("lost", [0, 1])
def test_of_a_trace_that_lost_a_chunk_what_is_there_is_read(lost: int) -> None:
    events = sample_json("trace-events.json")["traceEvents"]
    chunks = [event for event in events if event["name"] == "ProfileChunk"]
    (imported,) = read([event for event in events if event is not chunks[lost]])
    envelope = imported.completed.envelope

    kept = chunks[1 - lost]["args"]["data"]
    known = {node["id"] for node in kept["cpuProfile"]["nodes"]}
    samples = kept["cpuProfile"]["samples"]
    unknown = sum(node not in known for node in samples)
    assert len([line for line in lines(envelope) if not line.endswith(" -")]) <= len(samples) - unknown
    assert any("not in the file" in note for note in imported.completed.notes) == (lost == 0)


def test_a_node_whose_caller_is_lost_begins_its_stack() -> None:
    events = sample_json("trace-events.json")["traceEvents"]
    (imported,) = read(
        [event if event["name"] != "ProfileChunk" else _without(event, {"main", "(root)"}) for event in events]
    )
    shown = lines(imported.completed.envelope)
    assert any(line.endswith(" render price") for line in shown)
    assert not any("main" in line for line in shown)
    assert "2 samples name call nodes that are not in the file" not in " ".join(imported.completed.notes)
    assert any("their stacks begin there" in note for note in imported.completed.notes)


def _without(event: dict[str, Any], names: set[str]) -> dict[str, Any]:
    nodes = _nodes_of(event)
    nodes[:] = [node for node in nodes if node["callFrame"]["functionName"] not in names]
    return event


def test_a_profile_that_lost_its_beginning_is_read() -> None:
    events = sample_json("trace-events.json")["traceEvents"]
    envelope = read_envelope([event for event in events if event["name"] != "Profile"])
    assert lines(envelope)[:3] == ["0 main", "10 main render", "20 main render price"]


@pytest.mark.parametrize("fault", ["type", "deltas", "twin", "depth", "frames"])
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_profile_that_cannot_be_read_does_not_hold_up_the_others(fault: str, place: str) -> None:
    events = sample_json("trace-events.json")["traceEvents"]
    expected = lines(read_envelope(events))
    bad = [{**deepcopy(event), "pid": 13} for event in events if event["name"] in ("Profile", "ProfileChunk")]
    data = bad[1]["args"]["data"]
    if fault == "type":
        data["cpuProfile"]["samples"][0] = "x"
    elif fault == "deltas":
        data["timeDeltas"] = data["timeDeltas"][1:]
    elif fault == "twin":
        _nodes_of(bad[1]).append(_nodes_of(bad[1])[0])
    elif fault == "depth":
        frame = _nodes_of(bad[1])[-1]["callFrame"]
        _nodes_of(bad[1]).extend({"id": 1000 + i, "parent": 999 + i, "callFrame": frame} for i in range(20_000))
    else:
        _nodes_of(bad[1])[-1]["callFrame"]["functionName"] = "x" * 10**6
    (imported,) = read([*bad, *events] if place == "first" else [*events, *bad])
    assert lines(imported.completed.envelope) == expected
    (note,) = imported.completed.notes[-1:]
    assert note.startswith("1 profile of the trace could not be read.")


def test_the_next_largest_profile_of_a_thread_is_read_if_the_largest_cannot_be() -> None:
    events = sample_json("trace-events.json")["traceEvents"]
    smaller = [{**deepcopy(event), "id": "0x2"} for event in (events[2], events[3])]
    _nodes_of(events[3]).append(_nodes_of(events[3])[0])
    (imported,) = read([*events, *smaller])
    assert len(imported.completed.envelope.trace.samples) < 9
    assert any("could not be read" in note for note in imported.completed.notes)


def test_a_trace_without_a_profile_says_so() -> None:
    with pytest.raises(FileError, match="no CPU profile"):
        read([{"ph": "X", "pid": 1, "tid": 1, "ts": 0, "name": "RunTask"}])


def test_a_fault_is_named_by_the_event_it_is_in() -> None:
    file = sample_json("trace-events.json")
    file["traceEvents"][3]["args"]["data"]["cpuProfile"]["samples"][0] = "x"

    with pytest.raises(FileError) as caught:
        read(file)
    assert caught.value.path == "$.traceEvents[3].args.data.cpuProfile.samples[0]"
