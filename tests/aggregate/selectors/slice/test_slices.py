"""What a slice may say, how its times are rounded, and which cells it picks."""

from datetime import datetime, timedelta

import pytest

from aggregate.models import Cell
from aggregate.selectors.functions.table import select_functions
from aggregate.selectors.slice.slices import SliceError, SliceQuery, resolve_slice
from tests.builders import MONDAY, make_cell, make_project

pytestmark = pytest.mark.django_db


def _short(at: datetime | None) -> str | None:
    return None if at is None else at.strftime("%m-%dT%H:%M")


def instants(query: SliceQuery, project_id: int = 1) -> list[tuple[str | None, str | None]]:
    ranges = resolve_slice(project_id, query).ranges
    return [(_short(start), _short(end)) for start, end in ranges]


def test_times_are_rounded_outwards_to_hours() -> None:
    query: SliceQuery = {"from": ["2026-11-16T09:41:12Z"], "to": ["2026-11-16T11:00:01Z"]}
    assert instants(query) == [("11-16T09:00", "11-16T12:00")]


def test_times_on_the_hour_stay() -> None:
    query: SliceQuery = {"from": ["2026-11-16T09:00:00Z"], "to": ["2026-11-16T11:00:00Z"]}
    assert instants(query) == [("11-16T09:00", "11-16T11:00")]


@pytest.mark.parametrize(
    "text", ["1794821400000", "2026-11-16T11:30:00+02:00", "2026-11-16T11:30:00 02:00", "2026-11-16T09:30:00"]
)
def test_a_time_is_epoch_milliseconds_or_iso_with_a_zone_or_utc(text: str) -> None:
    assert instants({"from": [text]}) == [("11-16T09:00", None)]


def test_a_day_may_have_the_basic_form_of_iso() -> None:
    assert instants({"from": ["20261116"], "to": ["20261117T0930Z"]}) == [("11-16T00:00", "11-17T10:00")]
    assert instants({"from": ["946684800000"]}) == [("01-01T00:00", None)]


def test_times_in_a_day_whose_hours_were_merged_are_rounded_to_that_day() -> None:
    project = make_project()
    make_cell(project, starts_at=MONDAY.replace(hour=0), grain=Cell.Grain.DAY)
    query: SliceQuery = {"from": ["2026-11-16T09:41:12Z"], "to": ["2026-11-16T11:00:01Z"]}
    assert instants(query, project.pk) == [("11-16T00:00", "11-17T00:00")]


def test_several_froms_and_tos_are_pairs_and_their_union_is_picked() -> None:
    project = make_project()
    for hour in range(4):
        make_cell(project, starts_at=MONDAY + timedelta(hours=hour), views=10**hour)
    query: SliceQuery = {
        "from": ["2026-11-16T09:00Z", "2026-11-16T11:00Z"],
        "to": ["2026-11-16T10:00Z", "2026-11-16T12:00Z"],
    }
    slice_ = resolve_slice(project.pk, query)
    assert select_functions(slice_, limit=1).views == 101
    assert (slice_.from_at, slice_.to_at) == (MONDAY, MONDAY + timedelta(hours=3))


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"from": ["yesterday"]}, "from"),
        ({"from": ["-5"]}, "from"),
        ({"from": ["0"]}, "from"),
        ({"from": ["2026"]}, "from"),
        ({"from": ["20261320"]}, "from"),  # no month
        ({"from": ["1795600000"]}, "from"),  # seconds
        ({"from": ["202611201015"]}, "from"),
        ({"from": ["20261120101500"]}, "from"),
        ({"from": ["946684799999"]}, "from"),  # a moment before 2000
        (SliceQuery(to=["1795600000"]), "to"),
        (SliceQuery(to=["1795600000000000"]), "to"),  # microseconds
        (SliceQuery(to=["999999999999999999999999"]), "to"),
        (SliceQuery(to=[""]), "to"),
        (SliceQuery(to=["0001-01-01T00:00:00+14:00"]), "to"),
        ({"from": ["2026-11-16T09:00Z"], "to": ["2026-11-16T09:00Z"]}, "to"),
        ({"from": ["1", "2"], "to": ["3"]}, "from"),
        (SliceQuery(device=["toaster"]), "device"),
        (SliceQuery(browser=["chrome", "netscape"]), "browser"),
        (SliceQuery(navigation=["load", "soft"]), "navigation"),
        (SliceQuery(release=["a\0b"]), "release"),
        (SliceQuery(page=["/x"] * 101), "page"),
    ],
)
def test_a_bad_value_is_refused_by_the_name_of_its_field(query: SliceQuery, field: str) -> None:
    with pytest.raises(SliceError) as caught:
        resolve_slice(1, query)
    assert caught.value.field == field
    assert caught.value.detail


def test_the_last_hour_of_all_time_does_not_overflow() -> None:
    assert resolve_slice(1, SliceQuery(to=["9999-12-31T23:59:59Z"])).to_at is not None


def test_each_field_narrows_and_its_values_widen() -> None:
    project = make_project()
    make_cell(project, release="1", page="/a", device="desktop", browser="chrome", views=1)
    make_cell(project, release="2", page="/a", device="mobile", browser="chrome", views=10)
    make_cell(project, release="2", page="/b", device="mobile", browser="edge", navigation="route", views=100)

    def views(query: SliceQuery) -> int:
        return select_functions(resolve_slice(project.pk, query), limit=1).views

    assert views(SliceQuery()) == 111
    assert views(SliceQuery(release=["2"])) == 110
    assert views(SliceQuery(release=["1", "2"])) == 111
    assert views(SliceQuery(release=["2"], page=["/a"])) == 10
    assert views(SliceQuery(device=["mobile"])) == 110
    assert views(SliceQuery(browser=["edge"])) == 100
    assert views(SliceQuery(navigation=["route"])) == 100
    assert views(SliceQuery(navigation=["unknown"])) == 11
    assert views(SliceQuery(navigation=["unknown", "route"])) == 111
    assert views(SliceQuery(release=["3"])) == 0


def test_a_slice_written_as_a_query_reads_back_as_itself() -> None:
    from django.http import QueryDict

    from dashboard.web.params import read_slice_query

    query: SliceQuery = {
        "release": ["1.0 & more", "ü"],
        "page": ["/product/:id"],
        "from": ["2026-11-16T09:10Z", "2026-11-18"],
        "to": ["2026-11-16T12:00Z", "2026-11-19"],
        "device": ["mobile"],
        "browser": ["edge"],
        "navigation": ["route", "bfcache"],
    }
    slice_ = resolve_slice(1, query)
    assert resolve_slice(1, read_slice_query(QueryDict(slice_.query()))) == slice_
