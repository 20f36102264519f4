"""`bench curves` measures the same work in projects of several sizes, and says how its cost grows."""

from datetime import UTC, datetime

import pytest

from bench.curves.costs import Cost
from bench.curves.run import Point, as_json, bench_curves, describe, draw_curves, find_exponent, read_point
from bench.fill import fill
from tests.aggregate.posting import rows
from tests.builders import make_project
from tests.corpus import DATA

CORPUS = DATA / "corpus.jsonl.gz"


def make_points(*costs_ms: float) -> list[Point]:
    return [Point(10**power, 10**power, [Cost("read", ms)]) for power, ms in enumerate(costs_ms, start=2)]


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_is_found(exponent: float) -> None:
    sizes = [1e4, 1e5, 1e6]
    assert find_exponent(sizes, [3 * size**exponent for size in sizes]) == pytest.approx(exponent, abs=1e-9)


def test_what_follows_beyond_continues_the_last_two_sizes() -> None:
    (curve,) = draw_curves(make_points(10.0, 10.0, 100.0))
    assert [curve.exponent, curve.last_exponent] == pytest.approx([0.5, 1.0])
    assert curve.beyond_ms == pytest.approx(1000.0)


def test_sizes_are_told_in_ascending_order() -> None:
    points = make_points(1.0, 2.0)
    assert describe(points[::-1]) == describe(points)
    assert "by it at 10,000" in describe(points)
    assert describe(points[:1]).splitlines()[1].split() == ["read", "1.0"]


def test_a_point_comes_back_from_the_process_that_measured_it() -> None:
    (point,) = make_points(1.5)
    assert read_point(as_json(point)) == point


@pytest.mark.slow(50)
@pytest.mark.django_db
def test_views_without_rows_of_their_own_are_in_all_sums() -> None:
    written = {}
    for thin in (1, 5):
        project = make_project(f"thin{thin}")
        count = fill(project.pk, CORPUS, 2000, datetime.now(UTC), lambda rows: None, thin=thin)
        (sums,) = rows("SELECT sum(views), sum(js_us) FROM aggregate_cell WHERE project_id = %s", project.pk)
        assert rows("SELECT count(*) FROM aggregate_view WHERE project_id = %s", project.pk) == [(count,)]
        written[thin] = (count, sums)
    assert written[1][1] == written[5][1]
    assert written[5][0] < written[1][0]


@pytest.mark.slow(60)
@pytest.mark.stack
def test_each_work_is_measured_in_databases_of_its_own() -> None:
    told: list[str] = []
    (point,) = bench_curves(CORPUS, [500], told.append)
    assert told == [f"500 views, {point.rows} of them with rows of their own"]
    assert len(point.costs) == 7
    assert all(cost.ms > 0 for cost in point.costs), point.costs
