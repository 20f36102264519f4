"""`overview`: the contract's fields by release, page and day, and nothing unknown let pass."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from projects.models import Project
from tests.builders import MONDAY, make_cell

API = "/api/v1/projects/shop/overview"


def ask(member: Client, query: str = "") -> Any:  # Any: JSON
    response = member.get(API + query)
    assert response.status_code == 200, response.content
    return response.json()


def test_a_row_has_the_contracts_fields(member: Client, shop: Project) -> None:
    make_cell(shop, release="2.0.0", views=4, truncated_views=1, traces=6, js_us=1_234_567, idle_us=1)
    answer = ask(member, "?release=2.0.0")
    (row,) = answer.pop("rows")
    whole = answer.pop("whole")
    assert answer.pop("slice")["release"] == ["2.0.0"]
    assert answer.pop("arrivals")["received"] == 1
    assert answer == {"source": "rollup", "by": ["release"], "row_count": 1}
    assert row == {"release": "2.0.0", "page": None, "day": None, **whole}
    assert whole == {
        "views": 4,
        "truncated_views": 1,
        "truncated_share": 0.25,
        "traces": 6,
        "samples": 1,
        "time_ms": {"js": 1234.567, "hidden": 0, "engine": 0, "idle": 0.001, "unobserved": 0}
        | {"profiler": 0, "span": 1234.568},
        "time_ms_per_view": {
            "js": 1234.567 / 4,
            "hidden": 0,
            "engine": 0,
            "idle": 0.001 / 4,
            "unobserved": 0,
            "profiler": 0,
            "span": 1234.568 / 4,
        },
    }


def test_rows_are_by_what_was_asked_for(member: Client, shop: Project) -> None:
    make_cell(shop, release="2.0.0", starts_at=MONDAY + timedelta(days=1), js_us=5)
    answer = ask(member, "?by=day&by=release")
    assert answer["by"] == ["day", "release"]
    assert [(row["day"], row["release"], row["page"]) for row in answer["rows"]] == [
        ("2026-11-16", "1.0.0", None),
        ("2026-11-17", "2.0.0", None),
    ]
    assert ask(member, "?by=page&limit=1")["row_count"] == 1


def test_a_device_is_answered_from_cells(member: Client) -> None:
    assert (ask(member, "?device=desktop")["source"], ask(member, "?device=desktop")["whole"]["views"]) == ("cells", 1)
    assert ask(member, "?device=mobile")["whole"]["views"] == 0


def test_without_views_there_is_nothing_per_view(member: Client) -> None:
    answer = ask(member, "?release=none")
    assert (answer["rows"], answer["row_count"]) == ([], 0)
    assert answer["whole"]["time_ms_per_view"] is None
    assert answer["whole"]["truncated_share"] is None


@pytest.mark.parametrize(
    ("query", "field"), [("?by=device", "by"), ("?limit=0", "limit"), ("?func=1", "func"), ("?view=x", "view")]
)
def test_a_bad_parameter_is_400_and_named(member: Client, query: str, field: str) -> None:
    response = member.get(API + query)
    assert (response.status_code, response.json()["field"]) == (400, field)
