"""How figures are written: thin spaces, units, honest small shares, bars that fill their width."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import pytest

from aggregate.selectors.project.overview import OverviewRow
from dashboard.templatetags.differences import change_as_time
from dashboard.templatetags.figures import (
    ago,
    count,
    day_bars,
    days_width,
    interval_as_share,
    interval_as_time,
    moment,
    ms_as_time,
    ms_in,
    roughly,
    share,
    time_parts,
    unit_of,
    us_as_time,
    visible,
)
from profcore.numbers import choose_unit, write_change_in, write_in, write_interval_in, write_scale
from profcore.stats.estimates import Figure, Interval
from profcore.trace.weights import TimeParts
from tests.dashboard.pages.written_numbers import WRITTEN, thin


@pytest.mark.parametrize(("ms", "text"), WRITTEN["times"])
def test_a_time_has_three_digits_and_the_unit_a_person_would_say(ms: float, text: str) -> None:
    assert ms_as_time(ms) == us_as_time(ms * 1_000) == thin(text)


@pytest.mark.parametrize(("ms", "text"), WRITTEN["changes"])
def test_a_change_of_time_has_a_sign(ms: float, text: str) -> None:
    assert change_as_time(ms) == thin(text)


@pytest.mark.parametrize(("values", "texts"), WRITTEN["scales"])
def test_the_marks_of_an_axis_have_one_unit(values: Sequence[float], texts: Sequence[str]) -> None:
    assert write_scale(values) == [thin(text) for text in texts]


@pytest.mark.parametrize(("values", "times", "changes"), WRITTEN["columns"])
def test_a_column_has_the_unit_of_its_largest_value(
    values: Sequence[float], times: Sequence[str], changes: Sequence[str]
) -> None:
    unit = choose_unit(values)
    assert [write_in(ms, unit) for ms in values] == [thin(text) for text in times]
    assert [write_change_in(ms, unit) for ms in values] == [thin(text) for text in changes]


def test_changes_and_intervals_of_a_column_have_its_unit() -> None:
    unit = choose_unit([1_234.0])
    assert [write_change_in(ms, unit) for ms in (1_234.0, -12.0, 0.2)] == [
        thin(text) for text in ("+1.23 s", "−0.012 s", "±0 s")
    ]
    assert write_interval_in(-60.0, 1_500.0, unit) == "−0.060 to " + thin("1.50 s")


def test_the_unit_of_a_column_is_found_in_its_rows() -> None:
    rows = [{"time": TimeParts(js_us=2_000_000)}, {"time": TimeParts(js_us=300)}, {"time": None}]
    unit = unit_of(rows, "time.js_us")
    assert [ms_in(ms, unit) for ms in (2_000.0, 0.3, None)] == [thin("2.00 s"), thin("< 0.001 s"), "–"]
    assert unit_of([("/cart", 3.0)], "1").word == "ms"
    assert unit_of([("/cart", 3.0)], "7").word == "ms"


def test_the_ends_of_an_interval_count_for_the_unit_of_its_column() -> None:
    figure = Figure(677.0, Interval(-48.5, 4_083.0))
    assert unit_of([(figure,)], "0.value").word == "s"
    assert unit_of([figure], "value").word == "s"
    assert unit_of([(Figure(677.0, None),)], "0.value").word == "ms"


def test_a_time_or_share_that_is_not_known_is_a_dash() -> None:
    assert (us_as_time(None), ms_as_time(None), share(None)) == ("–", "–", "–")


@pytest.mark.parametrize(("number", "text"), WRITTEN["counts"])
def test_counts_are_grouped_by_thin_spaces(number: int, text: str) -> None:
    assert count(number) == thin(text)


@pytest.mark.parametrize(("number", "text"), [(0, "0"), (112, "112"), (13_498, "13 500"), (99_960, "100 000")])
def test_an_estimate_is_written_with_three_digits(number: int, text: str) -> None:
    assert roughly(number).replace("\u202f", " ") == text


@pytest.mark.parametrize(("part", "text"), WRITTEN["shares"])
def test_a_share_is_in_per_cent_and_a_small_one_is_not_none(part: float, text: str) -> None:
    assert share(part) == thin(text)


def test_a_stacked_bar_fills_its_width_and_keeps_absent_parts() -> None:
    parts = time_parts(TimeParts(js_us=1, hidden_us=1, idle_us=1, span_us=3))
    assert [(part.key, part.x, part.width) for part in parts] == [
        ("js", "0.0", "333.3"),
        ("hidden", "333.3", "333.3"),
        ("engine", "666.7", "0.0"),
        ("idle", "666.7", "333.3"),
        ("unobserved", "1000.0", "0.0"),
        ("profiler", "1000.0", "0.0"),
    ]


def test_no_time_at_all_draws_nothing() -> None:
    assert {(part.width, part.share) for part in time_parts(TimeParts())} == {("0.0", None)}


def test_times_are_written_in_utc_and_marked_for_the_script() -> None:
    at = datetime(2026, 11, 21, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    text = '<time datetime="2026-11-20T23:30:00Z" data-{}>2026-11-20 23:30 UTC</time>'
    assert moment(at) == text.format("local")
    assert ago(at) == text.format("ago")
    assert ago(None) == "never"


def test_control_and_direction_characters_are_shown() -> None:
    assert [visible(name) for name, _ in WRITTEN["names"]] == [text for _, text in WRITTEN["names"]]
    assert visible("a\x07\x7f\u202eb\u2028é(idle)") == "a␇␡⟨U+202E⟩b⟨U+2028⟩é(idle)"


def test_days_stand_at_their_dates_and_a_day_without_views_is_a_gap() -> None:
    rows = [
        OverviewRow(
            release=None,
            page=None,
            day=date(2026, 11, day),
            views=views,
            truncated_views=0,
            traces=views,
            time=TimeParts(js_us=js_us, hidden_us=hidden_us),
        )
        for day, views, js_us, hidden_us in ((1, 2, 600, 200), (2, 0, 0, 0), (4, 1, 100, 0))
    ]
    first, second = day_bars(rows)
    assert (first.x, first.js_y, first.js_height, first.hidden_y, first.hidden_height) == (
        "0",
        "25.0",
        "75.0",
        "0.0",
        "25.0",
    )
    assert (second.x, second.js_height, second.hidden_height) == ("30", "25.0", "0.0")
    assert days_width(rows) == 300
    assert days_width([rows[0], replace(rows[2], day=date(2026, 12, 31))]) == 610
    assert (days_width([]), day_bars([])) == (300, [])


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (None, ""),
        (Figure(1.0, None), ""),
        (Figure(13.0, Interval(12.34, 14.5)), "12.3 to 14.5~ms"),
        (Figure(13.0, Interval(850.0, 1_300.0)), "850~ms to 1.30~s"),
        (Figure(13.0, Interval(0.01, 0.3)), "<~0.1 to 0.3~ms"),
        (Figure(13.0, Interval(-19.3, 33.3)), "−19.3 to 33.3~ms"),
        (Figure(13.0, Interval(30_000.0, 90_000.0)), "30.0~s to 1~min~30~s"),
        (Figure(13.0, Interval(60_000.0, 120_000.0)), "1 to 2~min"),
    ],
)
def test_an_interval_is_written_with_its_unit_once(figure: Figure | None, text: str) -> None:
    assert interval_as_time(figure) == text.replace("~", "\u202f")


def test_an_interval_of_a_share_is_written_in_per_cent() -> None:
    assert interval_as_share(Figure(0.2, Interval(0.1, 0.3))) == "10.0\u202f% to 30.0\u202f%"
    assert interval_as_share(Figure(0.2, None)) == ""
