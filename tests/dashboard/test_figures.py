"""How figures are written: thin spaces, units, honest small shares, bars that fill their width."""

from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import pytest

from aggregate.selectors import OverviewRow
from dashboard.templatetags.figures import (
    ago,
    count,
    day_bars,
    days_width,
    interval_as_share,
    interval_as_time,
    moment,
    roughly,
    share,
    time_parts,
    us_as_time,
    visible,
)
from profcore.stats.estimates import Figure, Interval
from profcore.weights import TimeParts


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (None, "–"),
        (0, "0.0 ms"),
        (49, "0.0 ms"),
        (1_234, "1.2 ms"),
        (1_234_567, "1 234.6 ms"),
        (9_999_900, "9 999.9 ms"),
        (10_000_000, "10.0 s"),
        (12_345_678_900, "12 345.7 s"),
    ],
)
def test_time_is_in_ms_and_above_ten_thousand_of_them_in_seconds(us: int | None, text: str) -> None:
    assert us_as_time(us) == text.replace(" ", "\u202f")


def test_counts_are_grouped_by_thin_spaces() -> None:
    assert count(1_234_567) == "1\u202f234\u202f567"


@pytest.mark.parametrize(("number", "text"), [(0, "0"), (112, "112"), (13_498, "13 500"), (99_960, "100 000")])
def test_an_estimate_is_written_with_three_digits(number: int, text: str) -> None:
    assert roughly(number).replace("\u202f", " ") == text


@pytest.mark.parametrize(
    ("part", "text"),
    [(None, "–"), (0.0, "0.0 %"), (0.0004, "< 0.1 %"), (0.0005, "0.1 %"), (0.777, "77.7 %"), (1, "100.0 %")],
)
def test_a_small_share_is_not_written_as_none(part: float | None, text: str) -> None:
    assert share(part) == text.replace(" ", "\u202f")


def test_a_stacked_bar_fills_its_width_and_keeps_absent_parts() -> None:
    parts = time_parts(TimeParts(js_us=1, hidden_us=1, idle_us=1, span_us=3))
    assert [(part.key, part.x, part.width) for part in parts] == [
        ("js", "0.0", "333.3"),
        ("hidden", "333.3", "333.3"),
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
    assert visible("a\x07\x7f\u202eb\u2028é(idle)") == "a␇␡⟨U+202E⟩b⟨U+2028⟩é(idle)"


def test_days_stand_at_their_dates_and_a_day_without_views_is_a_gap() -> None:
    rows = [
        OverviewRow(None, None, date(2026, 11, day), views, 0, views, TimeParts(js_us=js_us, hidden_us=hidden_us))
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
        (Figure(13.0, Interval(12.34, 14.5)), "12.3–14.5 ms"),
        (Figure(13.0, Interval(9_000.0, 14_500.0)), "9 000.0 ms–14.5 s"),
    ],
)
def test_an_interval_is_written_with_its_unit_once(figure: Figure | None, text: str) -> None:
    assert interval_as_time(figure) == text.replace(" ", "\u202f")


def test_an_interval_of_a_share_is_written_in_per_cent() -> None:
    assert interval_as_share(Figure(0.2, Interval(0.1, 0.3))) == "10.0\u202f% to 30.0\u202f%"
    assert interval_as_share(Figure(0.2, None)) == ""
