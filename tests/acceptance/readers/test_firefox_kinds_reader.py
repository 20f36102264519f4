"""Mozilla's own reader opens every kind of profile: views on their clocks, segments, differences."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from profcore.formats.pruning import prune_export
from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import DifferenceExport, Export, ExportFunc, SegmentedExport, TimelineExport
from profcore.formats.streaming import gzip_stream
from profcore.formats.timeline import ViewTrace, build_timeline
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from tests.acceptance.recorded import Group, export_group, groups, recorded_traces
from tests.envelopes import TIME_ORIGIN_MS, make_envelope
from tests.profcore.formats.builders import export_of, timeline
from tests.profcore.formats.firefox.lint import load_good
from tests.profile_reader import Reader, open_profile

pytestmark = pytest.mark.slow(8)

FIREFOX = EXPORTERS["firefox"]


def save(export: Export, folder: Path) -> Path:
    load_good(b"".join(FIREFOX.write(export)))
    path = folder / "profile.json.gz"
    path.write_bytes(b"".join(gzip_stream(FIREFOX.write(export))))
    return path


def by_row(reader: Reader, thread: int = 0) -> dict[int, tuple[float, float]]:
    """Returns self and total ms of a thread's funcs, by their row."""
    reader.ask("thread", "select", f"t-{thread}", "--json")
    return {func.index: (func.self_ms, func.total_ms) for func in reader.read_functions()}


def totals(reader: Reader, thread: int = 0) -> dict[str, tuple[float, float]]:
    """Returns self and total ms of a thread's funcs, by name; names must be distinct."""
    reader.ask("thread", "select", f"t-{thread}", "--json")
    functions = reader.read_functions()
    assert len({func.name for func in functions}) == len(functions)
    return {func.name: (func.self_ms, func.total_ms) for func in functions}


def marker_names(reader: Reader) -> dict[str, int]:
    answer = reader.ask("thread", "markers", "--json")
    return {row["markerName"]: row["count"] for row in answer["byType"]}


MARKS: list[dict[str, Any]] = [
    {"type": "fcp", "start": 8},
    {"type": "lcp", "start": 12, "size": 42, "url": "https://shop.example/hero.webp", "id": "hero"},
    {"type": "event", "name": "click", "start": 5, "duration": 40, "processingStart": 6, "processingEnd": 20},
    {"type": "longtask", "start": 0, "duration": 55},
    {"type": "loaf", "start": 0, "duration": 60, "blockingDuration": 3, "scripts": [{"invoker": "x", "duration": 5}]},
    {"type": "measure", "name": "hydrate", "start": 3, "duration": 9},
    {"type": "cache", "start": 3, "hit": False},
]


def a_view() -> TimelineExport:
    envelope = make_envelope(columns="A\nA B\n-\nA B\n-\n-\n-\nA\nA", marks=MARKS, reason="samplebufferfull")
    envelope["trace"]["samples"][1]["marker"] = "gc"
    envelope["trace"]["samples"][-1]["timestamp"] = 500
    later = make_envelope(columns="A B\nA B", seq=1, timeOrigin=TIME_ORIGIN_MS + 900, viewStart=TIME_ORIGIN_MS)
    return timeline(envelope, later)


def test_the_reader_shows_a_view_with_its_time_its_markers_and_its_cpu_use(tmp_path: Path) -> None:
    with open_profile(save(a_view(), tmp_path)) as reader:
        assert totals(reader) == {"A": (120, 170), "B": (40, 50), "(hidden)": (30, 30)}
        assert marker_names(reader) == {
            "FirstContentfulPaint": 1,
            "LargestContentfulPaint": 1,
            "Interaction": 1,
            "Long task": 1,
            "Long animation frame": 1,
            "UserTiming": 1,
            "cache": 1,
            "Garbage collection": 1,
            "Trace": 2,
            "Recording ended": 2,
            "Unobserved": 1,
        }
        (process,) = reader.ask("profile", "info", "--json")["processes"]
    assert process["cpuMs"] == 190, "all but the idle and the unobserved"


def test_the_reader_shows_engine_work_as_leaves_where_asked_for(tmp_path: Path) -> None:
    with open_profile(save(replace(a_view(), engine_leaves=True), tmp_path)) as reader:
        functions = totals(reader)
    assert (functions["(garbage collection)"], functions["B"]) == ((10, 10), (30, 50))


def test_the_reader_shows_each_of_several_views_as_a_process(tmp_path: Path) -> None:
    views = timeline(make_envelope("a", "A\nA"), make_envelope("b", "B\nB C"), make_envelope("c", "-"))
    with open_profile(save(views, tmp_path)) as reader:
        processes = reader.ask("profile", "info", "--all", "--json")["processes"]
        assert sorted(process["pid"] for process in processes) == ["view 1", "view 2", "view 3"]
        assert totals(reader, 1) == {"B": (10, 20), "C": (10, 10)}


def test_the_reader_opens_a_view_without_samples(tmp_path: Path) -> None:
    envelope = make_envelope(marks=MARKS[:2])
    envelope["trace"]["samples"] = []
    with open_profile(save(timeline(envelope), tmp_path)) as reader:
        assert marker_names(reader)["LargestContentfulPaint"] == 1


def test_the_reader_opens_marks_from_before_the_view_and_long_after_it(tmp_path: Path) -> None:
    marks = [{"type": kind, "start": start, "duration": 5} for kind in ("longtask", "odd") for start in (-9e8, 5, 9e8)]
    view = make_envelope(marks=marks, viewStart=TIME_ORIGIN_MS - 3_600_000)
    with open_profile(save(timeline(view), tmp_path)) as reader:
        shown = reader.ask("profile", "info", "--json")["context"]["rootRange"]
        assert totals(reader)["A"] == (10, 20)
    assert (shown["start"], shown["end"]) == (3_600_000, 3_610_040)


def test_the_reader_opens_hostile_marks(tmp_path: Path) -> None:
    marks = [
        {"type": kind, "start": 1, "duration": 3, "name": text, "target": text, "value": text, "odd": text}
        for kind in ["event", "longtask", "mark", "lcp", "odd"]
        for text in ["a\0b", "<img src=x onerror=alert(1)>", "{marker.name}", "x" * 5_000, "\u2028"]
    ]
    with open_profile(save(timeline(make_envelope(marks=marks)), tmp_path)) as reader:
        assert sum(marker_names(reader).values()) == len(marks) + 2


def a_difference() -> DifferenceExport:
    base, head = (replace(export_group(group), views=20) for group in two_releases())
    return DifferenceExport(project="shop", query="base_release=a&head_release=b", base=base, head=head)


def two_releases() -> Iterator[Group]:
    app, release, page = groups()[0]
    yield (app, release, page)
    yield next(group for group in groups() if group[0] == app and group[2] == page and group[1] != release)


def test_the_reader_shows_a_difference_signed_and_both_its_sides(tmp_path: Path) -> None:
    export = a_difference()
    with open_profile(save(export, tmp_path)) as reader:
        changed, head, base = (by_row(reader, thread) for thread in range(3))
    for row in head.keys() | base.keys():
        for column in (0, 1):
            sides = head.get(row, (0, 0))[column] - base.get(row, (0, 0))[column]
            assert changed.get(row, (0, 0))[column] == pytest.approx(sides, abs=1e-6)
    assert any(total < 0 for _, total in changed.values())
    assert sum(self_ms for self_ms, _ in head.values()) == pytest.approx(
        (export.head.time.js_us + export.head.time.hidden_us) / 20_000
    )


def test_the_reader_shows_the_segments_below_the_whole(tmp_path: Path) -> None:
    parts = [(str(n), export_of({"main": 1_000 * (n + 1), "main draw": 500}, hidden_us=n)) for n in range(3)]
    whole = export_of({"main": 6_000, "main draw": 1_500}, hidden_us=3)
    with open_profile(save(SegmentedExport("page", whole, parts), tmp_path)) as reader:
        by_name = {name: tuple(round(ms, 9) for ms in times) for name, times in totals(reader).items()}
        assert by_name == {"main": (6, 7.5), "draw": (1.5, 1.5), "(hidden)": (0.003, 0.003)}
        assert totals(reader, 2)["main"] == pytest.approx((2, 2.5))
        (process,) = reader.ask("profile", "info", "--all", "--json")["processes"]
    assert [thread["name"] for thread in process["threads"]] == ["All: /checkout", "page: 0", "page: 1", "page: 2"]


def test_the_reader_opens_a_pruned_slice_whose_sum_is_whole(tmp_path: Path) -> None:
    whole = export_group(groups()[0])
    with open_profile(save(prune_export(whole, 20), tmp_path)) as reader:
        functions = reader.read_functions()
    busy_us = whole.time.js_us + whole.time.hidden_us
    assert sum(func.self_ms for func in functions) == pytest.approx(busy_us / 1000)
    assert [func.self_ms > 0 for func in functions if func.name == "(pruned)"] == [True]


@pytest.mark.parametrize("group", groups()[:: len(groups()) // 3], ids=" ".join)
def test_the_reader_counts_every_func_of_a_recorded_view_as_the_fold_does(group: Group, tmp_path: Path) -> None:
    envelope = recorded_traces()[group][0]
    funcs = FuncTable()
    view = build_timeline([ViewTrace(envelope)], page=group[2], funcs=funcs)
    export = TimelineExport(project=group[0], query="", funcs=list(label(funcs)), views=[view])
    with open_profile(save(export, tmp_path)) as reader:
        by_index = {func.index: func for func in reader.read_functions()}
    func_table = FuncTable()
    fold = fold_trace(envelope, page=group[2], funcs=func_table)
    shared = json.loads(b"".join(FIREFOX.write(export)))["shared"]
    for row, func in by_index.items():
        name = shared["stringArray"][shared["funcTable"]["name"][row]]
        if name == "(hidden)":
            assert func.self_ms == pytest.approx(view.time.hidden_us / 1000)
        elif name != "(profiler)":
            index = int(name.rpartition("#")[2])
            assert func.self_ms == pytest.approx(fold.sums.self_us.get(index, 0) / 1000)
            total_us = fold.sums.total_us.get(index, 0) + fold.sums.hidden_total_us.get(index, 0)
            assert func.total_ms == pytest.approx(total_us / 1000)


def label(funcs: FuncTable) -> Iterator[ExportFunc]:
    """Yields each func for an export. Its name has its index, as in the fold."""
    for index, key in enumerate(funcs.keys):
        name = f"{key.name}#{index}"
        yield ExportFunc(label=name, name=name, uri=key.uri, line=key.line, column=key.column)
