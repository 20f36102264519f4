"""What the benchmark of exits counts as arrived, and that both benchmarks run in a real browser."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

from benchmarks.snippet.exits import EXITS, bench_exits, covered_ms, describe
from benchmarks.snippet.own_cost import bench_own_cost
from benchmarks.snippet.own_cost import describe as describe_own_cost
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


@pytest.mark.e2e
@pytest.mark.nightly
@pytest.mark.slow(20)
def test_an_app_is_loaded_in_each_way(tmp_path: Path) -> None:
    app = tmp_path / "shop"
    app.mkdir()
    (app / "index.html").write_text("<!doctype html><html><head><title>a</title></head><script src=/a.js></script>")
    (app / "a.js").write_text("for (let n = 0; n < 1e7; n += 1);")
    loads = alone(lambda: bench_own_cost(apps=tmp_path, loads=2, chromium=find_chromium()))
    assert sorted({(load.app, load.kind) for load in loads}) == [
        ("shop", "header"),
        ("shop", "none"),
        ("shop", "snippet"),
    ]
    assert all(load.processor_s > 0 for load in loads)
    assert "header + snippet" in describe_own_cost(loads)
