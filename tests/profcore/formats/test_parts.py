"""Segments and differences in formats that have no tracks or no signs."""

import csv
import gzip
import io
import json
from typing import Any

import pytest

from profcore.formats.registry import EXPORTERS, UnsupportedKind
from profcore.formats.segments import split_by_category, sum_exports
from profcore.formats.slice import Export, ExportFunc, SegmentedExport
from tests.profcore.formats.builders import BY_RELEASE, DIFFERENCE, OLD, URI, export_of
from tests.profcore.formats.readers import READERS, decode_message, decode_packed, format_sums


def write(name: str, export: Export) -> bytes:
    return b"".join(EXPORTERS[name].write(export))


def load_pprof(export: Export) -> tuple[list[dict[int, list[Any]]], list[str], dict[int, list[Any]]]:
    profile = decode_message(gzip.decompress(write("pprof", export)))
    return [decode_message(sample) for sample in profile[2]], [text.decode() for text in profile[6]], profile


def rows_of(export: Export) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(write("csv", export).decode(), newline="")))


@pytest.mark.parametrize("format_name", ["pprof"])
def test_segments_without_the_whole_add_up_to_it(format_name: str) -> None:
    reader = READERS[format_name]
    expected = format_sums(BY_RELEASE.whole, reader)

    sums = reader.read(write(reader.exporter, BY_RELEASE))

    assert (sums.self_us, sums.total_us) == (expected.self_us, expected.total_us)


def test_pprof_labels_samples_by_their_segment() -> None:
    samples, strings, _ = load_pprof(BY_RELEASE)

    labels = [decode_message(sample[3][0]) for sample in samples]
    assert {strings[label[1][0]] for label in labels} == {"release"}
    sums: dict[str, int] = {}
    for sample, label in zip(samples, labels, strict=True):
        name = strings[label[2][0]]
        sums[name] = sums.get(name, 0) + decode_packed(sample[2][0])[1]
    assert sums == {"1.0.0": 4_500, "2.0.0": 5_500}


def test_hidden_time_of_no_category_is_in_the_sum_all_the_same() -> None:
    funcs = [
        ExportFunc(label="main", name="main", uri=URI, line=1, column=1, category="first-party"),
        ExportFunc(label="render", name="render", uri=URI, line=2, column=1, category="library"),
    ]
    export = split_by_category(export_of({"main": 1_000, "main render": 3_000}, funcs=funcs, hidden_us=500))

    sums = READERS["pprof"].read(write("pprof", export))

    assert sum(sums.self_us.values()) == 4_500


def test_collapsed_stacks_have_a_root_frame_for_each_segment() -> None:
    lines = write("collapsed", BY_RELEASE).decode().replace("\u00a0", "~").splitlines()

    assert [line.partition(";")[0] for line in lines] == ["release:~1.0.0"] * 3 + ["release:~2.0.0"] * 3
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == 10_000


def test_speedscope_and_traces_have_the_whole_first_and_then_a_track_for_each() -> None:
    document = json.loads(write("speedscope", BY_RELEASE))
    assert [profile["name"] for profile in document["profiles"]] == ["All: /checkout", "1.0.0", "2.0.0"]
    assert [sum(profile["weights"]) for profile in document["profiles"]] == [10_140, 4_570, 5_570]

    trace = json.loads(write("trace-event", BY_RELEASE))
    threads = [event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"]
    assert threads == [
        f"{what} – {name}" for name in ("All: /checkout", "1.0.0", "2.0.0") for what in ("Stacks", "Call paths")
    ]


def test_a_traces_track_declares_no_nodes_but_its_own() -> None:
    other = export_of({"other": 1_000})
    export = SegmentedExport("page", sum_exports([OLD, other], query=""), [("/a", OLD), ("/b", other)])

    names: dict[int, set[str]] = {}
    for event in json.loads(write("trace-event", export))["traceEvents"]:
        if event["name"] == "ProfileChunk":
            nodes = event["args"]["data"].get("cpuProfile", {}).get("nodes", ())
            names.setdefault(event["tid"], set()).update(node["callFrame"]["functionName"] for node in nodes)
    assert [sorted(labels - {"(root)", "(idle)"}) for labels in names.values()] == [
        ["(hidden)", "main", "other", "render"],
        ["(hidden)", "main", "render"],
        ["other"],
    ]


def test_the_table_has_the_dimension_for_a_first_column() -> None:
    rows = rows_of(BY_RELEASE)

    assert list(rows[0])[:2] == ["release", "kind"]
    for release in ("1.0.0", "2.0.0"):
        times = {
            row["label"]: row["self_ms"] for row in rows if row["release"] == release and row["kind"] == "function"
        }
        assert times == {"render": "3.0", "main": "1.0"}


def test_pprof_writes_a_difference_as_its_own_command_does() -> None:
    samples, strings, profile = load_pprof(DIFFERENCE)

    (kind,) = map(decode_message, profile[1])
    assert (strings[kind[1][0]], strings[kind[2][0]]) == ("time", "nanoseconds")
    rows = [
        (decode_packed(sample[2][0])[0], [strings[decode_message(label)[1][0]] for label in sample.get(3, ())])
        for sample in samples
    ]
    assert sorted(rows) == [
        (-1_000_000, ["pprof::base"]),  # main: 3 ms over three views
        (-200_000, ["pprof::base"]),  # gone
        (100_000, []),  # hidden
        (500_000, []),  # main: 1 ms over two views
        (2_000_000, []),  # render
    ]


def test_collapsed_stacks_have_both_sides_on_a_line() -> None:
    lines = write("collapsed", DIFFERENCE).decode().replace("\u00a0https://shop.example/assets/app.js", "").splitlines()

    assert [line.replace("\u00a0", "~") for line in lines] == [
        "main:1:1 1000000 500000",
        "main:1:1;render:2:1 0 2000000",
        "main:1:1;gone:2:1 200000 0",
        "(hidden) 0 100000",
    ]


def test_speedscope_has_a_profile_for_each_side() -> None:
    document = json.loads(write("speedscope", DIFFERENCE))

    assert [(p["name"], p["unit"], sum(p["weights"])) for p in document["profiles"]] == [
        ("base", "nanoseconds", 1_210_000),
        ("head", "nanoseconds", 2_600_000),
    ]
    assert document["name"] == "shop 1.0.0 to 2.0.0"
    assert (document["fieldflame"]["base_views"], document["fieldflame"]["head_views"]) == (3, 2)


def test_the_table_has_both_sides_and_the_change() -> None:
    rows = rows_of(DIFFERENCE)

    assert [
        (row["label"], row["base_self_ms"], row["head_self_ms"], float(row["delta_self_ms"]))
        for row in rows
        if row["kind"] == "function"
    ] == [
        ("render", "0.0", "2.0", 2.0),
        ("gone", "0.2", "0.0", -0.2),
        ("main", "1.0", "0.5", -0.5),
    ]
    assert {row["label"] for row in rows if row["kind"] == "part"} == {
        "(hidden)",
        "(engine)",
        "(idle)",
        "(unobserved)",
        "(profiler)",
    }


@pytest.mark.parametrize(
    ("name", "export"), [("cpuprofile", BY_RELEASE), ("cpuprofile", DIFFERENCE), ("trace-event", DIFFERENCE)]
)
def test_a_format_without_a_way_to_say_it_refuses(name: str, export: Export) -> None:
    with pytest.raises(UnsupportedKind):
        EXPORTERS[name].write(export)


@pytest.mark.parametrize("export", [BY_RELEASE, DIFFERENCE], ids=["segments", "difference"])
def test_equal_parts_give_equal_bytes(export: Export) -> None:
    for exporter in EXPORTERS.values():
        if ("segments" if export is BY_RELEASE else "difference") in exporter.kinds:
            assert write(exporter.name, export) == write(exporter.name, export)
