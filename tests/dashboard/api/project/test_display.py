"""How a project shows its functions: read by its readers, changed by its admins, previewed first, seen in answers."""

import json
from typing import Any

import pytest
from django.test import Client

from profcore.formats.registry import EXPORTERS
from projects.models import Project
from tests.dashboard.api.project.rules import FOLD, RETITLE
from tests.dashboard.conftest import People

API = "/api/v1/projects/shop/"
DISPLAY = API + "display"


def send(client: Client, address: str, body: Any, method: str = "put", **more: Any) -> Any:
    return getattr(client, method)(address, json.dumps(body), content_type="application/json", **more)


@pytest.fixture
def folded(shop: Project) -> Project:
    shop.display_rules = [FOLD]
    shop.save()
    return shop


def test_readers_read_the_rules_and_admins_alone_change_them(
    client: Client, shop: Project, people: People, bearer: dict[str, str]
) -> None:
    assert client.get(DISPLAY, headers=bearer).json() == {"rules": [], "may_change": False}
    assert send(client, DISPLAY, {"rules": []}, headers=bearer).status_code == 403
    client.force_login(people.member)
    assert send(client, DISPLAY, {"rules": []}).status_code == 403
    client.force_login(people.stranger)
    assert client.get(DISPLAY).status_code == 404
    assert send(client, DISPLAY, {"rules": []}).status_code == 404
    client.force_login(people.owner)
    answer = send(client, DISPLAY, {"rules": [FOLD, RETITLE]})
    assert (answer.status_code, answer.json()) == (200, {"rules": [FOLD, RETITLE], "may_change": True})
    shop.refresh_from_db()
    assert shop.display_rules == [FOLD, RETITLE]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([], "$"),
        ({}, "rules"),
        ({"rules": [], "nonsense": 1}, "nonsense"),
        ({"rules": None}, "rules"),
        ({"rules": [{**FOLD, "action": "hide"}]}, "rules[0].action"),
        ({"rules": [FOLD, {**FOLD, "title": "{line}"}]}, "rules[1].title"),
    ],
)
def test_rules_that_cannot_be_used_name_their_place(
    client: Client, folded: Project, people: People, body: Any, field: str
) -> None:
    client.force_login(people.owner)
    for address, method in ((DISPLAY, "put"), (DISPLAY + "/preview", "post")):
        answer = send(client, address, body, method)
        assert (answer.status_code, answer.json()["field"]) == (400, field)
        assert answer.json()["detail"]
    folded.refresh_from_db()
    assert folded.display_rules == [FOLD]


def test_a_preview_tells_rows_before_and_after_and_stores_nothing(
    client: Client, shop: Project, people: People, bearer: dict[str, str]
) -> None:
    assert send(client, DISPLAY + "/preview", {"rules": []}, "post").status_code == 401
    answer = send(client, DISPLAY + "/preview", {"rules": [RETITLE, FOLD]}, "post", headers=bearer).json()
    assert (answer["function_count"], answer["before_count"], answer["after_count"]) == (2, 2, 2)
    assert answer["rules"] == [
        {"function_count": 1, "fitting_count": 1, "self_ms": 7.0},
        {"function_count": 1, "fitting_count": 2, "self_ms": 2.0},
    ]
    assert [row["label"] for row in answer["before"]] == ["draw", "main"]
    top, below = answer["after"]
    assert (top["label"], top["rule"], top["is_group"]) == ("Draws draw", 0, False)
    assert (below["label"], below["rule"], below["is_group"], below["colour"]) == ("The app", 1, True, "teal")
    assert (below["function_count"], below["self_share"]) == (1, 2 / 9)
    shop.refresh_from_db()
    assert shop.display_rules == []
    client.force_login(people.stranger)
    assert send(client, DISPLAY + "/preview", {"rules": []}, "post").status_code == 404


def test_answers_say_which_rules_applied_and_none_asks_for_the_plain_truth(
    client: Client, folded: Project, bearer: dict[str, str]
) -> None:
    for name in ("functions", "calltree", "flamegraph"):
        assert client.get(API + name, headers=bearer).json()["display"] == {"rules": 1}
        assert client.get(API + name + "?display=none", headers=bearer).json()["display"] == {"rules": 0}
    (shown,) = client.get(API + "functions", headers=bearer).json()["functions"]
    assert (shown["label"], shown["self_ms"], shown["total_ms"]) == ("The app", 9.0, 9.0)
    assert (shown["is_group"], shown["colour"], shown["uri"]) == (True, "teal", None)
    plain = client.get(API + "functions?display=none", headers=bearer).json()
    assert [row["label"] for row in plain["functions"]] == ["draw", "main"]
    assert client.get(API + "functions?display=all", headers=bearer).json()["field"] == "display"
    compared = client.get(API + "compare?base_release=1.0.0&head_release=1.0.0", headers=bearer).json()
    assert compared["display"] == {"rules": 1}


def test_whatever_takes_a_slice_takes_how_it_is_shown(client: Client, folded: Project, bearer: dict[str, str]) -> None:
    for name in ("pages", "overview", "markers", "views", "traces", "functions/1/breakdown", "functions/1/callers"):
        assert client.get(f"{API}{name}?display=none", headers=bearer).status_code == 200, name
    assert client.get(API + "status?display=none", headers=bearer).status_code == 400


def test_a_group_has_places_of_its_own_where_they_tell_something(
    client: Client, folded: Project, bearer: dict[str, str]
) -> None:
    (shown,) = client.get(API + "functions", headers=bearer).json()["functions"]
    breakdown = client.get(f"{API}functions/{shown['id']}/breakdown", headers=bearer).json()
    assert breakdown["function"]["label"] == "The app"
    assert [(row["self_ms"], row["total_ms"], row["function_views"]) for row in breakdown["breakdown"]] == [
        (9.0, None, None)
    ]
    callers = client.get(f"{API}functions/{shown['id']}/callers", headers=bearer).json()
    assert (callers["display"], [call["total_ms"] for call in callers["callers"]]) == ({"rules": 1}, [9.0])
    refused = client.get(f"{API}views?func={shown['id']}", headers=bearer)
    assert (refused.status_code, refused.json()["field"]) == (400, "func")
    assert client.get(f"{API}functions/d{'0' * 20}/breakdown", headers=bearer).status_code == 404
    assert client.get(f"{API}functions?func_over={shown['id']}:1", headers=bearer).json()["field"] == "func_over"


@pytest.mark.parametrize("name", ["flamegraph?", *(f"profile?format={name}&" for name in EXPORTERS)])
def test_what_is_kept_by_a_client_is_out_of_date_when_rules_change(
    client: Client, shop: Project, bearer: dict[str, str], name: str
) -> None:
    tags = []
    for rules in ([], [FOLD], [RETITLE], [RETITLE, FOLD]):
        shop.display_rules = rules
        shop.save()
        tags.append(client.get(API + name, headers=bearer)["ETag"])
        kept = client.get(API + name, headers=bearer | {"If-None-Match": tags[-1]})
        assert kept.status_code == 304
    assert len(set(tags)) == 4
    plain = client.get(API + name + "display=none", headers=bearer)["ETag"]
    assert plain not in tags[1:]
    shop.display_rules = [FOLD]
    shop.save()
    assert client.get(API + name + "display=none", headers=bearer)["ETag"] == plain


def test_a_job_keeps_how_its_slice_is_shown(client: Client, folded: Project, people: People) -> None:
    client.force_login(people.owner)
    body = {"kind": "functions", "params": {"display": "none"}}
    job = send(client, API + "jobs", body, "post").json()
    assert job["params"] == {"display": ["none"]}


def test_a_link_to_share_keeps_how_its_slice_is_shown(client: Client, folded: Project, people: People) -> None:
    client.force_login(people.owner)
    bodies = {}
    for display in ({}, {"display": "none"}):
        made = send(client, API + "links", {"params": {"format": "collapsed", **display}}, "post")
        assert made.status_code in (200, 201), made.content
        bodies[len(display)] = b"".join(Client().get(made.json()["url"])).decode()
    assert "The\u00a0app" in bodies[0]
    assert "The\u00a0app" not in bodies[1]
