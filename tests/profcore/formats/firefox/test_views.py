"""One view on its real clock: each sample's stack, the closing samples, CPU use, and markers."""

from datetime import UTC, datetime
from typing import Any

import pytest

from profcore.formats.firefox.writer import write_views
from profcore.formats.slice import TimelineExport
from tests.envelopes import TIME_ORIGIN_MS, make_envelope, view_id_of
from tests.profcore.formats.builders import timeline
from tests.profcore.formats.firefox.views import Json, sample_lines, write


def markers(profile: Json, name: str) -> list[Json]:
    """Returns a thread's markers of a name: start, end and data."""
    table, strings = profile["threads"][0]["markers"], profile["shared"]["stringArray"]
    return [
        {"start": table["startTime"][row], "end": table["endTime"][row], **table["data"][row]}
        for row in range(table["length"])
        if strings[table["name"][row]] == name
    ]


def test_samples_stand_at_their_times_and_weigh_the_time_to_the_next() -> None:
    profile = write(timeline(make_envelope(columns="A\nA B\nA")))
    assert sample_lines(profile) == ["0 10 0 A", "10 10 10000 A B", "20 10 10000 A", "30 0 10000 -"]


def test_idle_time_has_no_stack_and_no_cpu_use() -> None:
    profile = write(timeline(make_envelope(columns="A\n-\n-\nA")))
    assert sample_lines(profile) == ["0 10 0 A", "10 10 10000 -", "20 10 0 -", "30 10 0 A", "40 0 10000 -"]


def test_hidden_time_stands_below_the_function_it_was_attributed_to() -> None:
    task = {"type": "longtask", "start": 0, "duration": 55}
    profile = write(timeline(make_envelope(columns="A B\n-\nA C\n-\n-\n-", marks=[task])))
    assert sample_lines(profile)[:5] == [
        "0 10 0 A B",
        "10 10 10000 A B (hidden)",
        "20 10 10000 A C",
        "30 10 10000 (hidden)",
        "40 10 10000 (hidden)",
    ]


def test_the_engines_time_stands_at_the_root() -> None:
    task = {"type": "longtask", "start": 0, "duration": 40}
    frame = {"type": "loaf", "start": 0, "duration": 90, "scripts": [{"start": 0, "duration": 25}]}
    profile = write(timeline(make_envelope(columns="A B\n-\n-\n-", marks=[task, frame])))
    assert sample_lines(profile)[1:4] == ["10 10 10000 A B (hidden)", "20 10 10000 A (hidden)", "30 10 10000 (engine)"]
    categories = [category["name"] for category in profile["meta"]["categories"]]
    assert profile["shared"]["frameTable"]["category"][-1] == categories.index("Engine")


def test_hidden_time_of_nobody_stands_at_the_root() -> None:
    profile = write(timeline(make_envelope(columns="-\n-", marks=[{"type": "longtask", "start": 0, "duration": 20}])))
    assert sample_lines(profile)[:2] == ["0 10 0 (hidden)", "10 10 10000 (hidden)"]


def test_pseudo_funcs_are_dimmed_and_no_javascript() -> None:
    profile = write(timeline(make_envelope(columns="-", marks=[{"type": "longtask", "start": 0, "duration": 20}])))
    table = profile["shared"]["funcTable"]
    assert (table["resource"], table["isJS"], table["relevantForJS"]) == ([-1], [False], [False])


def test_a_pages_own_function_of_a_pseudo_name_stays_apart() -> None:
    task = {"type": "longtask", "start": 0, "duration": 30}
    profile = write(timeline(make_envelope(columns="(hidden)\n-\n(hidden)", marks=[task])))
    assert sample_lines(profile)[:2] == ["0 10 0 (hidden)", "10 10 10000 (hidden) (hidden)"]
    assert profile["shared"]["funcTable"]["length"] == 2


def test_the_cost_of_measuring_is_shown_apart() -> None:
    envelope = make_envelope(columns="A\nA")
    envelope["trace"]["frames"].append({"name": "Profiler"})
    envelope["trace"]["stacks"].append({"frameId": 1, "parentId": 0})
    envelope["trace"]["samples"][0]["stackId"] = 1
    profile = write(timeline(envelope))
    assert sample_lines(profile)[:2] == ["0 10 0 (profiler)", "10 10 10000 A"]
    assert profile["shared"]["funcTable"]["length"] == 2, "the stack on which it happened is shown nowhere"


def test_what_was_not_observed_is_closed_and_marked() -> None:
    envelope = make_envelope(columns="A\nA")
    envelope["trace"]["samples"][1]["timestamp"] = 500
    profile = write(timeline(envelope))
    assert sample_lines(profile) == ["0 100 0 A", "100 0 100000 -", "500 10 0 A", "510 0 10000 -"]
    assert [(m["start"], m["end"]) for m in markers(profile, "Unobserved")] == [(100, 500)]


def test_traces_of_one_view_are_one_track_with_a_break_between_them() -> None:
    first = make_envelope(columns="A", seq=0, reason="timer")
    second = make_envelope(columns="A B", seq=1, timeOrigin=TIME_ORIGIN_MS + 100, viewStart=TIME_ORIGIN_MS)
    profile = write(timeline(second, first))
    assert len(profile["threads"]) == 1
    assert sample_lines(profile) == ["0 10 0 A", "10 0 10000 -", "100 10 0 A B", "110 0 10000 -"]
    assert [(m["number"], m["start"], m["end"]) for m in markers(profile, "Trace")] == [(0, 0, 10), (1, 100, 110)]


def test_profilers_that_ran_at_once_have_a_track_each() -> None:
    first = make_envelope(columns="A\nA\nA", seq=0)
    second = make_envelope(columns="B\nB", seq=1, timeOrigin=TIME_ORIGIN_MS + 5, viewStart=TIME_ORIGIN_MS)
    profile = write(timeline(first, second))
    assert [(t["isMainThread"], t["pid"]) for t in profile["threads"]] == [(True, "0"), (False, "0")]
    assert sample_lines(profile, 1) == ["5 10 0 B", "15 10 10000 B", "25 0 10000 -"]


def test_several_views_are_processes_that_start_together() -> None:
    profile = write(timeline(make_envelope("a", "A\nA"), make_envelope("b", "A B", timeOrigin=TIME_ORIGIN_MS + 9_000)))
    assert [(t["pid"], t["isMainThread"], t["unregisterTime"]) for t in profile["threads"]] == [
        ("view 1", True, 20),
        ("view 2", True, 10),
    ]
    assert sample_lines(profile, 1)[0] == "0 10 0 A B"
    assert profile["meta"]["profilingEndTime"] == 30
    assert profile["shared"]["funcTable"]["length"] == 2, "a func that two views ran is one row"


def test_several_views_are_named_by_page_time_and_short_id() -> None:
    later = TIME_ORIGIN_MS + 60_000
    profile = write(timeline(make_envelope("a", "A"), make_envelope("b", "A", timeOrigin=later)))
    assert [thread["name"] for thread in profile["threads"]] == [
        f"/cart {datetime.fromtimestamp(ms / 1000, UTC):%m-%d %H:%M} {view_id_of(name)[:8]}"
        for name, ms in (("a", TIME_ORIGIN_MS), ("b", later))
    ]
    assert profile["meta"]["product"] == "shop"


def test_the_title_of_a_view_says_when_and_which() -> None:
    profile = write(timeline(make_envelope("a", "A")))
    started = datetime.fromtimestamp(TIME_ORIGIN_MS / 1000, UTC)
    assert profile["meta"]["product"] == f"shop /cart {started:%Y-%m-%d %H:%M} UTC {view_id_of('a')[:8]}"
    assert profile["threads"][0]["name"] == "/cart"


def test_samples_before_the_view_move_the_start_of_the_axis() -> None:
    profile = write(timeline(make_envelope(columns="A\nA", viewStart=TIME_ORIGIN_MS + 4)))
    assert sample_lines(profile)[0] == "0 10 0 A"
    assert profile["meta"]["startTime"] == int(TIME_ORIGIN_MS)


@pytest.mark.parametrize(("late_ms", "shown_from_ms"), [(9_000, 0), (3_600_000, 3_600_000)])
def test_a_view_recorded_late_is_shown_from_where_it_was(late_ms: int, shown_from_ms: int) -> None:
    profile = write(timeline(make_envelope(columns="A\nA", viewStart=TIME_ORIGIN_MS - late_ms)))
    assert profile["meta"]["profilingStartTime"] == shown_from_ms
    assert profile["meta"]["profilingEndTime"] == late_ms + 30
    assert sample_lines(profile)[0] == f"{late_ms} 10 0 A"


def test_a_trace_without_samples_is_an_empty_track() -> None:
    envelope = make_envelope(columns="A", reason="pagehide")
    envelope["trace"]["samples"] = []
    profile = write(timeline(envelope))
    assert sample_lines(profile) == []
    assert [m["ended"] for m in markers(profile, "Recording ended")] == ["pagehide"]


def marked(**fact: object) -> Json:
    return {"type": "x", "start": 5, **fact}


@pytest.mark.parametrize("reason", ["timer", "samplebufferfull", "pagehide", "my own reason"])
def test_why_a_trace_ended_is_marked_at_its_end(reason: str) -> None:
    profile = write(timeline(make_envelope(columns="A\nA", reason=reason)))
    (end,) = markers(profile, "Recording ended")
    assert (end["start"], end["ended"], "meaning" in end) == (20, reason, reason != "my own reason")


def test_paints_go_by_the_names_the_viewer_knows() -> None:
    marks = [
        marked(type="fcp", start=12.5),
        marked(
            type="largest-contentful-paint", start=15, duration=0, size=4200, url="https://shop.example/a?b", id="hero"
        ),
    ]
    profile = write(timeline(make_envelope(marks=marks)))
    assert [m["start"] for m in markers(profile, "FirstContentfulPaint")] == [12.5]
    (lcp,) = markers(profile, "LargestContentfulPaint")
    assert (lcp["end"], lcp["size"], lcp["url"], lcp["element"]) == (None, 4200, "https://shop.example/a", "hero")


def test_an_interaction_is_shown_in_its_phases_with_what_ran_in_it() -> None:
    event = marked(
        type="event", name="click", start=10, duration=80, processingStart=15, processingEnd=60, interactionId=77,
        target="BUTTON#buy",
    )  # fmt: skip
    task = {"type": "longtask", "start": 20, "duration": 60}
    profile = write(timeline(make_envelope(columns="A\nA\nA\n-\n-\nA\n-\n-\n-\n-", marks=[event, task])))
    (click,) = markers(profile, "Interaction")
    assert (click["input_delay"], click["processing"], click["presentation"]) == (5, 45, 30)
    assert (click["event"], click["target"], click["interaction"]) == ("click", "BUTTON#buy", 77)
    assert (click["js"], click["hidden"]) == (30, 40)
    assert "details" not in click


def test_a_long_task_tells_the_function_that_took_most_of_it() -> None:
    task = {"type": "longtask", "start": 0, "duration": 70, "attribution": {"containerType": "window"}}
    profile = write(timeline(make_envelope(columns="A\nA B\nA B\n-\nA\nB\nA B", marks=[task])))
    (marker,) = markers(profile, "Long task")
    assert (marker["heaviest"], marker["heaviest_ms"], marker["blocking"]) == ("B", 40, 20)
    assert (marker["js"], marker["hidden"]) == (60, 10)
    assert marker["details"] == [["attribution.containerType", "window"]]


def test_a_long_animation_frame_lists_its_scripts() -> None:
    script = {"invoker": "BUTTON.onclick", "sourceURL": "https://a.test/x.js?k", "duration": 60, "startTime": 9}
    frame = marked(type="long-animation-frame", duration=80, blockingDuration=30, renderStart=75, scripts=[script])
    (marker,) = markers(write(timeline(make_envelope(marks=[frame]))), "Long animation frame")
    assert marker["scripts"] == [["BUTTON.onclick", "", "https://a.test/x.js", 60, 0]]
    assert (marker["blocking"], marker["until_render"]) == (30, 70)
    assert marker["heaviest"] == "BUTTON.onclick https://a.test/x.js 60 ms"


def test_rows_of_engine_markers_say_something_in_the_table() -> None:
    schemas = {schema["name"]: schema for schema in write(timeline(make_envelope()))["meta"]["markerSchema"]}
    assert all(schema.get("tableLabel") for schema in schemas.values())
    bare = marked(type="long-animation-frame", duration=80)
    (marker,) = markers(write(timeline(make_envelope(marks=[bare]))), "Long animation frame")
    assert marker["heaviest"] == "no script reported"


def test_user_marks_and_measures_are_user_timing() -> None:
    marks = [marked(type="mark", name="ready"), marked(type="measure", name="hydrate", duration=12)]
    timings = markers(write(timeline(make_envelope(marks=marks))), "UserTiming")
    assert [(m["name"], m["entryType"], m["end"]) for m in timings] == [
        ("hydrate", "measure", 17),
        ("ready", "mark", None),
    ]


def test_a_mark_of_any_other_type_goes_by_its_own_word() -> None:
    (marker,) = markers(
        write(timeline(make_envelope(marks=[marked(type="cache-miss", value=3, who=True)]))), "cache-miss"
    )
    assert (marker["value"], marker["details"]) == (3, [["who", "yes"]])


def with_engine(columns: str, marker_words: str, **fields: Any) -> Json:
    envelope = make_envelope(columns=columns, **fields)
    for sample, word in zip(envelope["trace"]["samples"], marker_words.split(), strict=True):
        if word != ".":
            sample["marker"] = word
    return envelope


def test_runs_of_engine_work_are_marked() -> None:
    profile = write(timeline(with_engine("A\nA\nA\n-\nA", "gc gc layout layout script")))
    (gc,) = markers(profile, "Garbage collection")
    (layout,) = markers(profile, "Layout")
    assert (gc["start"], gc["end"], gc["samples"], gc["weight"]) == (0, 20, 2, 20)
    assert (layout["start"], layout["end"], layout["samples"]) == (20, 40, 2)


def test_engine_work_makes_leaves_only_where_asked_for() -> None:
    export = timeline(with_engine("A\nA B\n-\nA", "gc layout style script"))
    assert sample_lines(write(export))[:4] == ["0 10 0 A", "10 10 10000 A B", "20 10 10000 (hidden)", "30 10 10000 A"]
    with_leaves = TimelineExport(
        project=export.project, query=export.query, funcs=export.funcs, views=export.views, engine_leaves=True
    )
    assert [line.split(" ", 3)[3] for line in sample_lines(write(with_leaves))[:4]] == [
        "A (garbage collection)",
        "A B (layout)",
        "(hidden) (style)",
        "A",
    ]


HOSTILE = ["\ud800", "a\0b", "<img src=x onerror=alert(1)>", "{marker.name}", "x" * 5_000, "\u2028", ""]


@pytest.mark.parametrize("text", HOSTILE[1:], ids=range(len(HOSTILE) - 1))
def test_hostile_texts_of_marks_are_shown_as_they_are_or_cut(text: str) -> None:
    kinds = ["event", "longtask", "loaf", "mark", "lcp", "cls", "odd"]
    if "\0" not in text and text and len(text) < 100:
        kinds.append(text)
    marks = [
        {"type": kind, "start": 1, "duration": 3, "name": text, "target": text, "value": text, "size": text,
         "interactionId": text, "processingStart": text, "processingEnd": text, "blockingDuration": text,
         "renderStart": text, "scripts": [{"invoker": text, "duration": text}, text], "attribution": [text]}
        for kind in kinds
    ]  # fmt: skip
    profile = write(timeline(make_envelope(marks=marks)))
    assert profile["threads"][0]["markers"]["length"] == len(kinds) + 2


def test_numbers_where_texts_are_expected_do_no_harm() -> None:
    marks = [
        {"type": kind, "start": 1, "duration": 3, "name": 5, "target": True, "value": True, "id": 9, "url": 1.5,
         "interactionId": False, "processingStart": 9e300, "processingEnd": -5, "scripts": 7}
        for kind in ["event", "longtask", "loaf", "mark", "lcp", "cls", "odd"]
    ]  # fmt: skip
    write(timeline(make_envelope(marks=marks)))


@pytest.mark.parametrize("number", [10**30, -(10**30), 2**53, 1e308, 4.5, 0])
def test_numbers_of_any_size_are_written(number: float) -> None:
    marks = [
        {"type": kind, "start": 1, "value": number, "size": number, "interactionId": number, "renderStart": number}
        for kind in ["event", "loaf", "lcp", "cls", "odd"]
    ]
    write(timeline(make_envelope(marks=marks)))


def test_equal_views_give_equal_bytes_whatever_the_order_of_their_traces() -> None:
    traces = [
        make_envelope(columns="A\nA B", seq=n, timeOrigin=TIME_ORIGIN_MS + 50 * n, viewStart=TIME_ORIGIN_MS)
        for n in range(3)
    ]
    first, second = (b"".join(write_views(timeline(*order))) for order in (traces, traces[::-1]))
    assert first == second


def test_a_timeline_without_views_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one view"):
        list(write_views(TimelineExport(project="shop", query="", funcs=(), views=())))


def test_a_stack_ten_thousand_deep_is_written() -> None:
    envelope = make_envelope(marks=[{"type": "longtask", "start": 0, "duration": 100}])
    depth = 10_000
    envelope["trace"]["stacks"] = [{"frameId": 0}] + [{"frameId": n % 2, "parentId": n} for n in range(depth - 1)]
    samples = [depth - 1, None, depth - 1, None, 3]
    envelope["trace"]["samples"] = [
        {"timestamp": 10 * n} | ({} if stack is None else {"stackId": stack}) for n, stack in enumerate(samples)
    ]
    profile = write(timeline(envelope))
    assert profile["shared"]["stackTable"]["length"] == depth + 2
    assert [line.count("A") + line.count("B") for line in sample_lines(profile)] == [depth, depth, depth, 4, 4, 0]
