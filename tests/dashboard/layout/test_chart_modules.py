"""The chart's pure modules in Node: gaps, faint points, the nearest line, and where keys lead."""

from typing import Any

from tests.format_judges import run_node

Point = dict[str, Any]


def run(operation: str, **asked: object) -> Any:  # Any: JSON
    return run_node("chart.mjs", operation, given=asked)


def point(day: int, value: float | None, *, spread: float | None = 1.0, views: int = 100, **more: object) -> Point:
    interval = None if spread is None or value is None else [value - spread, value + spread]
    at = f"2026-11-{day:02}T00:00:00Z"
    return {"at": at, "views": views, "ms_per_view": value, "ms_per_view_ci95": interval, "is_too_few": False, **more}


def answer(*lines: tuple[str | None, list[Point]], bucket: str = "day") -> dict[str, Any]:
    return {"bucket": bucket, "lines": [{"release": name, "points": points} for name, points in lines]}


def test_a_day_that_no_line_has_is_a_gap_on_the_grid() -> None:
    given = answer(("1.0", [point(1, 5.0), point(2, 6.0)]), ("1.1", [point(5, 9.0)]))
    days = [f"2026-11-0{day}T00:00:00.000Z" for day in range(1, 6)]
    assert run("times", answer=given) == days
    old, new = run("columns", answer=given)
    assert old["value"] == [5.0, 6.0, None, None, None]
    assert new["value"] == [None, None, None, None, 9.0]


def test_weeks_and_hours_have_grids_of_their_own() -> None:
    assert len(run("times", answer=answer(("1", [point(2, 1.0), point(16, 1.0)]), bucket="week"))) == 3
    assert len(run("times", answer=answer(("1", [point(2, 1.0), point(3, 1.0)]), bucket="hour"))) == 25


def test_an_answer_without_lines_has_no_times() -> None:
    assert run("times", answer=answer()) == []


def test_what_has_no_interval_is_dashed_and_in_no_band() -> None:
    points = [point(1, 5.0), point(2, 6.0), point(3, 7.0, spread=None, is_too_few=True), point(4, 8.0), point(5, 9.0)]
    (columns,) = run("columns", answer=answer(("1.0", points)))
    assert columns["value"] == [5.0, 6.0, None, 8.0, 9.0]
    assert columns["low"] == [4.0, 5.0, None, 7.0, 8.0]
    assert columns["dashed"] == [None, 6.0, 7.0, 8.0, None]


def test_a_line_of_all_releases_is_named_and_fields_can_have_other_names() -> None:
    assert run("names", answer=answer((None, [point(1, 5.0)])), names={"whole": "All releases"}) == ["All releases"]
    given = {"bucket": "day", "lines": [{"page": "/a", "points": [{"at": "2026-11-01T00:00:00Z", "views": 1, "x": 3}]}]}
    assert run("names", answer=given, names={"name": "page", "value": "x"}) == ["/a"]
    assert run("columns", answer=given, names={"name": "page", "value": "x"})[0]["dashed"] == [3]


TWO = answer(("new", [point(2, 9.0), point(3, 9.5)]), ("old", [point(1, 5.0), point(2, 5.0)]))


def test_the_nearest_line_is_of_those_shown_that_have_a_value_there() -> None:
    assert run("nearest", answer=TWO, shown=[True, True], at=1, value=8.0) == 0
    assert run("nearest", answer=TWO, shown=[True, True], at=1, value=6.0) == 1
    assert run("nearest", answer=TWO, shown=[False, True], at=1, value=9.0) == 1
    assert run("nearest", answer=TWO, shown=[False, True], at=2, value=9.0) is None


def test_keys_walk_along_a_line_and_between_lines() -> None:
    keys = ["ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowDown", "Home", "ArrowUp", "End"]
    places = [[0, 2], [0, 1], [0, 1], [1, 1], [1, 0], [0, 1], [0, 2]]
    assert run("walk", answer=TWO, shown=[True, True], keys=keys) == places
    assert run("walk", answer=TWO, shown=[False, True], keys=["ArrowUp", "ArrowUp"]) == [[1, 1], [1, 1]]
    assert run("walk", answer=TWO, shown=[False, False], keys=["ArrowUp"]) == [None]


def test_a_dragged_part_is_whole_buckets_and_all_of_them_are_no_part() -> None:
    given = answer(("1.0", [point(1, 5.0), point(9, 6.0)]))
    some = run("span", answer=given, low="2026-11-03T07:00Z", high="2026-11-04T01:00Z")
    assert some == {"from": "2026-11-03T00:00Z", "to": "2026-11-05T00:00Z"}
    assert run("span", answer=given, low="2026-10-01T00:00Z", high="2026-12-01T00:00Z") is None
    assert run("span", answer=given, low="2026-12-01T00:00Z", high="2026-12-02T00:00Z") is None


def test_a_release_is_marked_where_its_first_trace_arrived_or_where_older_data_begins() -> None:
    given = answer(("1.1", [point(5, 5.0)]), ("1.0", [point(1, 5.0)]))
    asked = [["1.1", "2026-11-05T07:00:00Z"], ["1.0", "2026-11-20T00:00:00Z"], ["0.9", "2026-10-01T00:00:00Z"]]
    assert run("marks", answer=given, marks=asked) == [
        ["0.9", "2026-10-01T00:00:00.000Z"],  # before the chart begins, which does not draw it
        ["1.0", "2026-11-01T00:00:00.000Z"],  # imported later
        ["1.1", "2026-11-05T07:00:00.000Z"],
    ]


def test_ticks_name_the_day_where_it_begins_and_the_year_once() -> None:
    noon = 1_795_262_400  # 2026-11-21 12:00 UTC; whatever the zone here, two days on it is another day
    first, same, later = run("ticks", seconds=[noon, noon + 60, noon + 2 * 86_400], step=60)
    assert "\n" in first
    assert "\n" not in same
    assert "\n" in later
    days = run("ticks", seconds=[noon, noon + 86_400], step=86_400)
    assert [day.count("2026") for day in days] == [1, 0]


def test_a_point_is_described_with_unit_interval_and_views() -> None:
    labels = {"what": "script time per view", "unit": "ms"}

    def describe(given: Point) -> str:
        text: str = run("describe", answer=answer(("1.0", [given])), words=labels)
        return text.replace("\u202f", " ")

    sure = describe(point(1, 12.34, spread=1.0, views=4_000, sampled_views=400))
    assert sure == (
        "12.3 ms script time per view, 95 % interval 11.3 to 13.3 ms, n = 4 000 page views, interval from 400"
    )
    few = describe(point(1, 12.34, spread=None, views=1, is_too_few=True))
    assert few == "12.3 ms script time per view, interval none: too few page views, n = 1 page view"
    assert "interval not known" in describe(point(1, 12.34, spread=None))
    assert "95 % interval 900 ms to 1.10 s," in describe(point(1, 1_000.0, spread=100.0))
