"""A view's files on its own clock, with the times of the fold, in every format that can write a view."""

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest

from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import TimelineExport
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Envelope, Limits, decode_envelope
from tests.acceptance.exports import export_view, fold_sums
from tests.acceptance.recorded import Group, groups, recorded_traces
from tests.envelopes import TIME_ORIGIN_MS, make_envelope
from tests.format_judges import read_by_devtools, run_go_pprof
from tests.profcore.formats.readers import READERS, Key, decode_message, decode_packed

WRITES_VIEWS = {
    name: reader for name, reader in READERS.items() if reader.views and "timeline" in EXPORTERS[reader.exporter].kinds
}


def write(name: str, export: TimelineExport) -> bytes:
    return b"".join(EXPORTERS[name].write(export))


def traces_of(columns: str, **fields: Any) -> Envelope:
    return decode_envelope(json.dumps(make_envelope("a", columns, **fields)).encode(), Limits())


@pytest.mark.parametrize("format_name", WRITES_VIEWS)
@pytest.mark.parametrize("group", groups(), ids=" ".join)
def test_a_recorded_view_has_the_times_of_the_fold(group: Group, format_name: str) -> None:
    reader, traces = WRITES_VIEWS[format_name], recorded_traces()[group][:1]

    sums = reader.read(write(reader.exporter, export_view(traces, page=group[2])))

    expected = fold_sums(traces, reader, page=group[2])
    assert (sums.self_us, sums.total_us) == (expected.self_us, expected.total_us)
    time = fold_trace(traces[0], page=group[2], funcs=FuncTable()).parts
    blank_us = time.unobserved_us + time.profiler_us if format_name == "speedscope" else 0  # it knows one kind of gap
    assert sums.idle_us == expected.idle_us + blank_us


@pytest.mark.parametrize("format_name", WRITES_VIEWS)
def test_traces_that_follow_overlap_or_come_before_the_start_keep_their_times(format_name: str) -> None:
    reader = WRITES_VIEWS[format_name]
    start = {"viewStart": TIME_ORIGIN_MS}
    traces = [
        traces_of("A\nA B\n-\nA", seq=0, timeOrigin=TIME_ORIGIN_MS - 50, **start),
        traces_of("A\nC", seq=1, timeOrigin=TIME_ORIGIN_MS + 1_000, **start),
        traces_of("D\nD\nD", seq=2, timeOrigin=TIME_ORIGIN_MS + 1_005, **start),
        traces_of("E", seq=3, timeOrigin=TIME_ORIGIN_MS + 1_015, **start),
    ]

    sums = reader.read(write(reader.exporter, export_view(traces)))

    expected = fold_sums(traces, reader)
    if format_name == "collapsed":  # each track below a root of its own
        assert sum(sums.self_us.values()) == sum(expected.self_us.values())
        return
    assert (sums.self_us, sums.total_us) == (expected.self_us, expected.total_us)


def slices_of(body: bytes) -> list[tuple[str, int, int]]:
    trace = json.loads(body)
    origin_us = trace["metadata"]["origin_us"]
    return [
        (event["name"].split(" ")[0], event["ts"] - origin_us, event["dur"])
        for event in trace["traceEvents"]
        if event["ph"] == "X"
    ]


def test_a_call_stands_at_its_time_and_lasts_while_it_is_seen() -> None:
    traces = [
        traces_of("A\nA B\nA C\n-\nA", seq=0, viewStart=TIME_ORIGIN_MS),
        traces_of("A", seq=1, timeOrigin=TIME_ORIGIN_MS + 500, viewStart=TIME_ORIGIN_MS),
    ]

    body = write("trace-event", export_view(traces))

    assert slices_of(body) == [
        ("A", 0, 30_000),
        ("B", 10_000, 10_000),
        ("C", 20_000, 10_000),
        ("A", 40_000, 10_000),
        ("A", 500_000, 10_000),
    ]


def test_no_time_of_a_trace_is_below_a_second_however_early_a_view_was_recorded() -> None:
    trace = traces_of("A\nA B", timeOrigin=TIME_ORIGIN_MS - 90_000, viewStart=TIME_ORIGIN_MS)

    body = write("trace-event", export_view([trace]))

    assert slices_of(body) == [("A", -90_000_000, 20_000), ("B", -89_990_000, 10_000)]
    assert min(event["ts"] for event in json.loads(body)["traceEvents"] if event["ph"] != "M") == 1_000_000


def test_marks_are_moments_and_stretches_that_may_overlap() -> None:
    marks = [
        {"type": "lcp", "start": 5},
        {"type": "longtask", "start": 0, "duration": 60},
        {"type": "event", "start": 20, "duration": 80},
    ]

    trace = json.loads(write("trace-event", export_view([traces_of("A", marks=marks)])))

    events = [
        (event["ph"], event["name"], event["ts"] - trace["metadata"]["origin_us"])
        for event in trace["traceEvents"]
        if event["name"].startswith("mark: ")
    ]
    assert sorted(events) == [
        ("I", "mark: largest-contentful-paint", 5_000),
        ("b", "mark: interaction", 20_000),
        ("b", "mark: longtask", 0),
        ("e", "mark: interaction", 100_000),
        ("e", "mark: longtask", 60_000),
    ]


def test_a_cpuprofile_begins_at_the_views_start_and_leaves_gaps_blank() -> None:
    traces = [
        traces_of("A", seq=0, timeOrigin=TIME_ORIGIN_MS + 100, viewStart=TIME_ORIGIN_MS),
        traces_of("A\n-", seq=1, timeOrigin=TIME_ORIGIN_MS + 200, viewStart=TIME_ORIGIN_MS),
    ]

    profile = json.loads(write("cpuprofile", export_view(traces)))

    names = {node["id"]: node["callFrame"]["functionName"] for node in profile["nodes"]}
    assert [names[node] for node in profile["samples"]] == ["A", "(root)", "A", "(idle)", "(root)"]
    assert profile["timeDeltas"] == [100_000, 10_000, 90_000, 10_000, 10_000]


def test_pprof_tells_when_a_sample_was_taken() -> None:
    body = write("pprof", export_view([traces_of("A\nA B\n-\nA", timeOrigin=TIME_ORIGIN_MS, viewStart=TIME_ORIGIN_MS)]))

    profile = decode_message(gzip.decompress(body))
    strings = [text.decode() for text in profile[6]]
    starts = []
    for sample in map(decode_message, profile[2]):
        (label,) = map(decode_message, sample[3])
        assert (strings[label[1][0]], strings[label[4][0]]) == ("start", "microseconds")
        starts.append((label.get(3, [0])[0], decode_packed(sample[2][0])))
    assert starts == [(0, [1, 10_000]), (10_000, [1, 10_000]), (30_000, [1, 10_000])]
    assert profile[10] == [40_000_000]


@pytest.mark.parametrize("name", sorted({reader.exporter for reader in WRITES_VIEWS.values()}))
def test_several_views_are_told_apart_where_the_format_can(name: str) -> None:
    first = [traces_of("A", viewId="11111111-1111-4111-8111-111111111111")]
    second = [traces_of("A\nA B", viewId="22222222-2222-4222-8222-222222222222")]

    body = write(name, export_view(first, second))

    text = (gzip.decompress(body) if EXPORTERS[name].is_gzip else body).decode("utf-8", "replace")
    assert "11111111" in text
    assert "22222222" in text


def test_devtools_draws_views_as_the_fold_counts_them(tmp_path: Any) -> None:
    group = groups()[0]
    traces = recorded_traces()[group][:2]
    export = export_view(traces[:1], traces[1:], page=group[2])
    reader = READERS["trace-event stacks"]
    (path := tmp_path / "view.trace.json").write_bytes(write("trace-event", export))
    (profile := tmp_path / "view.cpuprofile").write_bytes(write("cpuprofile", export_view(traces[:1], page=group[2])))

    threads = read_by_devtools("trace", path)
    (alone,) = read_by_devtools("cpuprofile", profile).values()

    for trace in traces:
        (view_sums,) = [
            sums for name, sums in threads.items() if name.startswith("Stacks") and str(trace.viewId)[:8] in name
        ]
        expected = fold_sums([trace], reader, page=group[2])
        assert (view_sums.self_us, view_sums.total_us) == (expected.self_us, expected.total_us)
    expected = fold_sums(traces[:1], READERS["cpuprofile"], page=group[2])
    assert (alone.self_us, alone.total_us, alone.idle_us) == (expected.self_us, expected.total_us, expected.idle_us)


def test_the_command_of_pprof_tells_views_apart(tmp_path: Any) -> None:
    first = [traces_of("A", viewId="11111111-1111-4111-8111-111111111111")]
    second = [traces_of("A\nA B", viewId="22222222-2222-4222-8222-222222222222")]
    (path := tmp_path / "views.pb.gz").write_bytes(write("pprof", export_view(first, second)))

    for view, us in (("11111111", 10_000), ("22222222", 20_000)):
        shown = run_go_pprof(path, "-top", "-unit=us", f"-tagfocus=view=/cart {view}")
        assert f"accounting for {us}us" in shown


@pytest.mark.parametrize("format_name", WRITES_VIEWS)
def test_the_engines_work_is_a_leaf_below_its_function_where_it_is_asked_for(format_name: str) -> None:
    reader = WRITES_VIEWS[format_name]
    envelope = make_envelope("a", "A\nA B\nA B")
    envelope["trace"]["samples"][1]["marker"] = "layout"
    plain = export_view([decode_envelope(json.dumps(envelope).encode(), Limits())])

    without, leaves = (
        reader.read(write(reader.exporter, replace(plain, engine_leaves=engine_leaves)))
        for engine_leaves in (False, True)
    )

    assert leaves.self_us[Key("(layout)")] == 10_000
    assert {key: us for key, us in leaves.total_us.items() if key.label != "(layout)"} == without.total_us
    assert sum(leaves.self_us.values()) == sum(without.self_us.values())
