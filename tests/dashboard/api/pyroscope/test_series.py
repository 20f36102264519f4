"""`SelectSeries`: the sums of hours by label, at any step."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from time_machine import travel

from aggregate.models import Cell
from aggregate.selectors.project import label_sums
from dashboard.api.pyroscope import series as series_module
from profcore.times import DAY, HOUR, start_of_day
from projects.models import Project
from tests.builders import MONDAY, make_cell
from tests.dashboard.api.pyroscope.asking import ask, epoch_ms, labels_of, question

Headers = dict[str, str]
Points = dict[int, float]


def series(client: Client, bearer: Headers, **more: Any) -> dict[tuple[str, ...], Points]:
    """Returns the points of each series, ms by minutes after Monday's start."""
    answer = ask(client, bearer, "SelectSeries", **question(**more))
    return {
        tuple(labels_of(one.get("labels", [])).values()): {
            (int(point["timestamp"]) - epoch_ms(MONDAY)) // 60_000: point.get("value", 0.0) / 1e6
            for point in one["points"]
        }
        for one in answer.get("series", [])
    }


def test_each_type_has_its_part_of_the_time(client: Client, bearer: Headers, shop: Project) -> None:
    make_cell(shop, js_us=1_000, hidden_us=2_000, engine_us=4_000, starts_at=MONDAY + HOUR)
    for kind, first, second in (
        ("script", 9.0, 1.0),
        ("hidden", 0.5, 2.0),
        ("script_and_hidden", 9.5, 3.0),
        ("engine", 0.0, 4.0),
    ):
        assert series(client, bearer, kind=kind, hours=2, step=3600) == {(): {60: first, 120: second}}


def test_series_are_by_labels(client: Client, bearer: Headers, shop: Project) -> None:
    make_cell(shop, page="/pay", release="1.1.0", js_us=3_000, device="mobile")
    assert series(client, bearer, step=3600, groupBy=["page"]) == {("/cart",): {60: 9.0}, ("/pay",): {60: 3.0}}
    both = series(client, bearer, step=3600, groupBy=["service_name", "release", "device"])
    assert both == {("desktop", "1.0.0", "shop"): {60: 9.0}, ("mobile", "1.1.0", "shop"): {60: 3.0}}
    assert series(client, bearer, step=3600, groupBy=["page"], limit=1) == {("/cart",): {60: 9.0}}


def test_short_steps_share_an_hour(client: Client, bearer: Headers) -> None:
    assert series(client, bearer, step=900) == {(): {15: 2.25, 30: 2.25, 45: 2.25, 60: 2.25}}


def test_merged_days_are_spread_over_the_day(client: Client, bearer: Headers, shop: Project) -> None:
    midnight = start_of_day(MONDAY) + DAY
    make_cell(shop, js_us=24_000, starts_at=midnight, grain=Cell.Grain.DAY)
    asked = question(step=3600) | {"start": epoch_ms(midnight + 5 * HOUR), "end": epoch_ms(midnight + 6 * HOUR)}
    (one,) = ask(client, bearer, "SelectSeries", **asked)["series"]
    assert [point["value"] for point in one["points"]] == [1e6] * 24  # the slice is the whole day


@pytest.mark.parametrize(("at", "minutes"), [(MONDAY + timedelta(minutes=30), 30), (MONDAY + HOUR, 60)])
def test_what_is_still_to_come_of_an_hour_has_no_time(
    client: Client, bearer: Headers, shop: Project, at: datetime, minutes: int
) -> None:
    with travel(at, tick=False):
        points = series(client, bearer, step=600)[()]
    assert list(points) == list(range(10, minutes + 1, 10))
    assert sum(points.values()) == pytest.approx(9.0)


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"step": 0}, "step must be a number of seconds above 0"),
        ({"step": -1}, "step must be"),
        ({"step": "NaN"}, "step must be"),
        ({"step": "Infinity"}, "step must be"),
        ({"step": 0.0001}, "points are more than 11000"),
        ({"step": 60, "profileTypeID": "process_cpu:cpu:nanoseconds:cpu:nanoseconds"}, "There is no profile type"),
        ({"step": 60, "groupBy": ["pod"]}, "There is no label 'pod'"),
    ],
)
def test_bad_questions_are_explained(client: Client, bearer: Headers, fields: dict[str, Any], detail: str) -> None:
    answer = ask(client, bearer, "SelectSeries", 400, **question() | fields)
    assert answer["code"] == "invalid_argument"
    assert detail in answer["message"]


def test_answers_are_bounded(client: Client, bearer: Headers, shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    make_cell(shop, page="/pay")
    monkeypatch.setattr(series_module, "MAX_POINTS", 100)
    answer = ask(client, bearer, "SelectSeries", 400, **question(step=60, groupBy=["page"]))
    assert answer["message"] == "2 series of 60 points are too many. Take a longer step."
    assert series(client, bearer, step=60)
    monkeypatch.setattr(label_sums, "MAX_ROWS", 1)
    answer = ask(client, bearer, "SelectSeries", 400, **question(step=60, groupBy=["page"]))
    assert answer["message"] == "There are more than 1 sums. Group by less, or take a shorter time."


def test_averages_and_call_sites_are_unimplemented(client: Client, bearer: Headers) -> None:
    for fields in (
        {"aggregation": "TIME_SERIES_AGGREGATION_TYPE_AVERAGE"},
        {"stackTraceSelector": {"callSite": [{"name": "main"}]}},
    ):
        assert ask(client, bearer, "SelectSeries", 404, **question(step=60), **fields)["code"] == "unimplemented"
    sums = {"aggregation": "TIME_SERIES_AGGREGATION_TYPE_SUM", "exemplarType": "EXEMPLAR_TYPE_NONE"}
    assert series(client, bearer, step=3600, **sums) == {(): {60: 9.0}}
