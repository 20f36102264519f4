"""`status`, `releases`, `pages`: the contract's fields, and nothing unknown let pass."""

import pytest
from django.test import Client

from ingest.models import Receipt
from projects.models import Project
from tests.builders import make_cell, make_group, make_receipt

API = "/api/v1/projects/shop/"


def test_status_has_the_contracts_fields(member: Client, shop: Project) -> None:
    answer = member.get(API + "status").json()
    assert answer == {
        "received": 1,
        "pending": 0,
        "folded": 1,
        "rejected": 0,
        "refused": 0,
        "dropped": 0,
        "refused_by_reason": {},
        "oldest_pending_s": None,
    }
    make_receipt(shop, state=Receipt.State.PENDING)
    answer = member.get(API + "status").json()
    assert answer["received"] == answer["pending"] + answer["folded"] + answer["rejected"] == 2
    assert 0 < answer["oldest_pending_s"] < 120


def test_releases_come_with_when_they_were_first_seen(member: Client, shop: Project) -> None:
    make_group(shop, "1.0.1", "/cart")
    assert member.get(API + "releases").json() == {
        "releases": [
            {
                "release": release,
                "first_seen_at": "2026-11-16T09:00:00Z",
                "views": views,
                "truncated_views": 0,
                "truncated_share": share,
                "announced": None,
            }
            for release, views, share in (("1.0.1", 0, None), ("1.0.0", 1, 0.0))
        ]
    }


def test_pages_come_with_js_per_view(member: Client, shop: Project) -> None:
    make_cell(shop, page="/list", views=4, js_us=10_000)
    make_cell(shop, page="/old", release="0.9", js_us=10_000)
    answer = member.get(API + "pages?release=1.0.0").json()
    assert answer["slice"]["release"] == ["1.0.0"]
    assert answer["pages"] == [
        {"page": "/list", "views": 4, "truncated_views": 0, "truncated_share": 0.0, "js_ms_per_view": 2.5},
        {"page": "/cart", "views": 1, "truncated_views": 0, "truncated_share": 0.0, "js_ms_per_view": 9.0},
    ]


@pytest.mark.parametrize(
    ("address", "field"),
    [("status?x=1", "x"), ("releases?release=1", "release"), ("pages?limit=1", "limit"), ("pages?to=soon", "to")],
)
def test_an_unknown_parameter_is_400_and_named(member: Client, address: str, field: str) -> None:
    response = member.get(API + address)
    assert response.status_code == 400
    assert response.json()["field"] == field


def test_other_methods_are_not_answered(client: Client, bearer: dict[str, str]) -> None:
    assert client.post(API + "status", headers=bearer).status_code == 405


def test_what_leads_nowhere_under_api_is_a_404_in_json(client: Client) -> None:
    for address in ("/api", "/api/", "/api/v2/x", "/api/v1/projects/shop/nonsense"):
        response = client.get(address)
        assert (response.status_code, response["Content-Type"]) == (404, "application/json"), address
