"""`trend`: the contract's fields, intervals, an ETag, and nothing unknown let pass."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from projects.models import Project
from tests.builders import MONDAY, make_timed_views

API = "/api/v1/projects/shop/trend"


@pytest.fixture
def releases(shop: Project) -> Project:
    """Release 2.0.0, with forty views on each of two days."""
    for day in range(2):
        make_timed_views(shop, [10_000, 20_000] * 20, release="2.0.0", starts_at=MONDAY + timedelta(days=3 * day))
    return shop


def ask(member: Client, query: str = "") -> Any:  # Any: JSON
    response = member.get(API + query)
    assert response.status_code == 200, response.content
    return response.json()


def test_a_point_has_the_contracts_fields(member: Client, releases: Project) -> None:
    answer = ask(member, "?release=2.0.0")
    (line,) = answer.pop("lines")
    assert answer.pop("slice")["release"] == ["2.0.0"]
    assert answer == {"measure": "self", "by": "release", "bucket": "day", "line_count": 1}
    assert (line["release"], len(line["points"])) == ("2.0.0", 2)
    point = line["points"][0]
    low, high = point.pop("ms_per_view_ci95")
    assert 12 < low < 15 < high < 18
    assert point == {
        "at": "2026-11-16T00:00:00Z",
        "views": 40,
        "sampled_views": 40,
        "effective_views": 40.0,
        "ms_per_view": 15.0,
        "is_too_few": False,
        "is_weighted": False,
        "is_complete": True,
    }


def test_lines_can_be_releases_or_all_together(member: Client, releases: Project) -> None:
    assert [line["release"] for line in ask(member)["lines"]] == ["2.0.0", "1.0.0"]
    assert [line["release"] for line in ask(member, "?by=none")["lines"]] == [None]
    assert ask(member, "?limit=1")["line_count"] == 2


def test_an_unchanged_trend_is_not_sent_again(member: Client, releases: Project) -> None:
    first = member.get(API)
    assert first["ETag"]
    again = {"If-None-Match": first["ETag"]}
    assert member.get(API, headers=again).status_code == 304
    assert member.get(API + "?measure=hidden", headers=again).status_code == 200
    make_timed_views(releases, [10_000], release="2.0.0", browser="edge")
    assert member.get(API, headers=again).status_code == 200


@pytest.mark.parametrize(
    ("query", "field"),
    [("?by=page", "by"), ("?measure=total", "measure"), ("?limit=51", "limit"), ("?tag=a:b", "tag"), ("?to=x", "to")],
)
def test_a_bad_parameter_is_400_and_named(member: Client, query: str, field: str) -> None:
    response = member.get(API + query)
    assert (response.status_code, response.json()["field"]) == (400, field)
