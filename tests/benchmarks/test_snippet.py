"""What the benchmark of exits counts as arrived, and that both benchmarks run in a real browser."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from benchmarks.snippet.exits import EXITS, bench_exits, covered_ms, describe
from benchmarks.snippet.main_thread import END_MARK, read_main_thread
from benchmarks.snippet.own_cost import HEADER, Case, bench_own_cost
from benchmarks.snippet.own_cost import describe as describe_own_cost
from ingest.snippet.views import SNIPPET_PATH
from tests.e2e.browser import find_chromium

T = TypeVar("T")


def alone(run: Callable[[], T]) -> T:
    """Returns what a run gives in a thread of its own: the other browser tests of this process have an event loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def chunk(*times: float) -> dict[str, Any]:  # Any: JSON of the snippet
    return {"sampleInterval": 10, "trace": {"samples": [{"timestamp": time} for time in times]}}


def test_chunks_that_overlap_cover_their_time_once() -> None:
    assert covered_ms([chunk(0, 100), chunk(90, 200)], 1_000) == 210


def test_a_gap_between_chunks_is_not_covered() -> None:
    assert covered_ms([chunk(300, 400), chunk(0, 100)], 1_000) == 220


def test_what_came_after_the_end_does_not_count() -> None:
    assert covered_ms([chunk(0, 100), chunk(100, 300)], 150) == 150
    assert covered_ms([chunk(200, 300)], 150) == 0
    assert covered_ms([], 150) == 0


@pytest.mark.e2e
@pytest.mark.nightly
@pytest.mark.slow(20)
def test_a_visit_of_each_end_is_measured() -> None:
    result = alone(lambda: bench_exits(visits=len(EXITS), chromium=find_chromium(), at_a_time=5))
    assert {visit.exit for visit in result.visits} == set(EXITS)
    assert all(0 <= visit.arrived_ms <= visit.length_ms for visit in result.visits)
    assert sum(visit.arrived_ms for visit in result.visits) > 0
    assert "cross-site" in describe(result)


def task(at: int, ms: int, source: str, *inside: dict[str, Any]) -> list[dict[str, Any]]:  # Any: JSON of the browser
    """Returns a task of the main thread, posted from a place of the browser's source, with events inside."""
    posted = event("ThreadControllerImpl::RunTask", at, ms, src_file=source, src_func="f")
    return [event("RunTask", at, ms), posted, *inside]


def event(name: str, at: int, ms: int, tid: int = 1, **args: object) -> dict[str, Any]:  # Any: as above
    return {"name": name, "ph": "X", "pid": 1, "tid": tid, "ts": at, "dur": ms * 1000, "tdur": ms * 1000, "args": args}


def test_a_task_is_the_snippets_if_it_runs_nothing_of_the_page() -> None:
    own, page = {"url": "https://a.example/snippet.js"}, {"url": "https://shop.example/app.js"}
    trace = [
        *task(0, 60, "core/dom_timer.cc", event("FunctionCall", 1, 5, data=own)),
        *task(100_000, 50, "core/dom_timer.cc", event("FunctionCall", 100_001, 5, data=page)),
        # An input that both hear: the snippet's part of it.
        *task(
            200_000,
            30,
            "core/input.cc",
            event("FunctionCall", 200_001, 2, data=own),
            event("FunctionCall", 203_000, 9, data=page),
        ),
        *task(300_000, 4, "bindings/script_promise_resolver.cc"),
        event("RunTask", 0, 900, tid=2),
        event("TimeStamp", 400_000, 0, data={"message": END_MARK}),
        *task(500_000, 70, "bindings/script_promise_resolver.cc"),
    ]
    thread = read_main_thread(json.dumps({"traceEvents": trace}).encode())
    assert thread.all_ms == 144
    assert sum(thread.caused_ms.values()) == 66
    assert (thread.longest_ms, thread.long_tasks) == (60, 1)


def test_a_click_lasts_until_its_frame() -> None:
    begin = {"name": "EventTiming", "ph": "b", "pid": 1, "tid": 1, "ts": 5_000, "id": "0x1"}
    trace = [
        {**begin, "args": {"data": {"type": "click"}}},
        {**begin, "id": "0x2", "args": {"data": {"type": "keydown"}}},
        {**begin, "ph": "e", "ts": 45_000, "args": {}},
        {**begin, "ph": "e", "ts": 95_000, "id": "0x2", "args": {}},
        event("TimeStamp", 400_000, 0, data={"message": END_MARK}),
    ]
    assert read_main_thread(json.dumps({"traceEvents": trace}).encode()).clicks_ms == [40]


@pytest.mark.e2e
@pytest.mark.nightly
@pytest.mark.slow(20)
def test_a_page_is_visited_with_the_header_only_and_with_the_snippet() -> None:
    case, builds = Case(page="clicks", throttle=2, stay_s=3), {"snippet": SNIPPET_PATH.parent}
    visits = alone(lambda: bench_own_cost(cases=[case], builds=builds, rounds=1, chromium=find_chromium()))
    header, snippet = sorted(visits, key=lambda visit: visit.build != HEADER)
    assert sum(header.thread.caused_ms.values()) == 0
    assert sum(snippet.thread.caused_ms.values()) > 0
    assert (header.posts, header.chunks) == (0, 0)
    assert snippet.posts > 0
    assert snippet.chunks >= 2
    assert header.thread.clicks_ms
    assert "clicks, 2x, 3 s" in describe_own_cost(visits, with_tasks=True)
