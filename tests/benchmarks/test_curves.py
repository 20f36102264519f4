"""`benchmarks curves` measures the same work in projects of several sizes, and says how its cost grows."""

import json
from dataclasses import asdict
from datetime import UTC, datetime

import pytest

from benchmarks.curves.costs import Cost
from benchmarks.curves.curves import Point, describe, find_exponent, measure_point, read_point
from benchmarks.shared.fill import fill
from tests.aggregate.posting import rows
from tests.builders import make_project


def make_points(*costs_ms: float) -> list[Point]:
    return [Point(10**power, 10**power, [Cost("read", ms)]) for power, ms in enumerate(costs_ms, start=2)]


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_is_found(exponent: float) -> None:
    sizes = [1e4, 1e5, 1e6]
    assert find_exponent(sizes, [3 * size**exponent for size in sizes]) == pytest.approx(exponent, abs=1e-9)


def test_sizes_are_printed_in_ascending_order() -> None:
    points = make_points(1.0, 2.0)
    assert list(describe(points[::-1])) == list(describe(points))
    assert [line.split() for line in describe(points)][1] == ["read", "1.0", "2.0", "0.30"]
    assert [line.split() for line in describe(points[:1])][1] == ["read", "1.0"]


def test_a_point_comes_back_from_the_process_that_measured_it() -> None:
    (point,) = make_points(1.5)
    assert read_point(json.dumps(asdict(point))) == point


@pytest.mark.nightly
@pytest.mark.slow(50)
@pytest.mark.django_db
def test_views_without_rows_of_their_own_are_in_all_sums() -> None:
    written = {}
    for thin in (1, 5):
        project = make_project(f"thin{thin}")
        count = fill(project.pk, 2000, datetime.now(UTC), lambda rows: None, thin=thin)
        (sums,) = rows("SELECT sum(views), sum(js_us) FROM aggregate_cell WHERE project_id = %s", project.pk)
        assert rows("SELECT count(*) FROM aggregate_pageview WHERE project_id = %s", project.pk) == [(count,)]
        written[thin] = (count, sums)
    assert written[1][1] == written[5][1]
    assert written[5][0] < written[1][0]


@pytest.mark.nightly
@pytest.mark.slow(60)
@pytest.mark.stack
def test_each_work_is_measured_in_databases_of_its_own() -> None:
    point = measure_point(500)
    assert point.rows > 0
    assert len(point.costs) == 7
    assert all(cost.ms > 0 for cost in point.costs), point.costs
