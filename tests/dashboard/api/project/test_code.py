"""What a project says of its code: read by its readers, changed by its admins, previewed first; and offered matches."""

import json
from typing import Any

import pytest
from django.test import Client

from aggregate.selectors.code import symbols
from projects.models import Project
from tests.aggregate.bundled_views import HASHED, func, view
from tests.aggregate.posting import fold_all, post
from tests.builders import make_func, make_label, make_project
from tests.dashboard.conftest import People

CODE = "/api/v1/projects/shop/code"


def send(client: Client, address: str, body: Any, method: str = "patch", **more: Any) -> Any:
    call = getattr(client, method)
    return call(address, json.dumps(body), content_type="application/json", **more)


def test_readers_read_it_and_admins_alone_change_it(
    client: Client, shop: Project, people: People, bearer: dict[str, str]
) -> None:
    assert client.get(CODE, headers=bearer).json() == {
        "rules": {},
        "source_link_template": "",
        "owner_rules": "",
        "issue_link_template": "",
        "third_parties": "third-party-web 0.30.0 (MIT)",
        "may_change": False,
    }
    assert send(client, CODE, {"rules": {}}, headers=bearer).status_code == 403
    client.force_login(people.member)
    assert send(client, CODE, {"rules": {}}).status_code == 403
    client.force_login(people.stranger)
    assert client.get(CODE).status_code == 404
    client.force_login(people.owner)
    rules = {"packages": [{"path": "packages/*", "name": "@acme/*"}]}
    template = "https://git.example/{release}/{path}#L{line}"
    answer = send(client, CODE, {"rules": rules, "source_link_template": template})
    assert (answer.status_code, answer.json()["rules"], answer.json()["may_change"]) == (200, rules, True)
    shop.refresh_from_db()
    assert (shop.code_rules, shop.source_link_template) == (rules, template)
    assert send(client, CODE, {"source_link_template": ""}).json()["rules"] == rules
    texts = {"owner_rules": "src/ @shop", "issue_link_template": "https://git.example/new?t={title}&b={body}"}
    answer = send(client, CODE, texts).json()
    assert {name: answer[name] for name in texts} == texts


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ([], "$"),
        ({"nonsense": 1}, "nonsense"),
        ({"rules": {"parties": [{"domain": "x", "owner": "nobody"}]}}, "rules.parties[0].owner"),
        ({"rules": {"categories": [{"category": "library", "uri": "("}]}}, "rules.categories[0]"),
        ({"rules": None}, "rules.rules"),
        ({"source_link_template": "javascript:{path}"}, "source_link_template"),
        ({"source_link_template": 1}, "source_link_template"),
        ({"owner_rules": "!src/ @a"}, "owner_rules"),
        ({"owner_rules": None}, "owner_rules"),
        ({"issue_link_template": "https://git.example/new"}, "issue_link_template"),
    ],
)
def test_a_change_that_cannot_be_made_names_its_field(
    client: Client, shop: Project, people: People, changes: Any, field: str
) -> None:
    client.force_login(people.owner)
    answer = send(client, CODE, changes)
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    shop.refresh_from_db()
    assert (shop.code_rules, shop.source_link_template) == ({}, "")


def test_a_preview_tells_what_rules_would_move_and_stores_nothing(
    client: Client, shop: Project, bearer: dict[str, str]
) -> None:
    made = make_func(shop, "t", uri="https://www.googletagmanager.com/gtag/js")
    mapped = make_func(shop, "u")
    make_label(mapped, "1.0.0", "packages/ui/src/button.ts", "press")
    rules = {
        "parties": [{"domain": "googletagmanager.com", "owner": "own"}],
        "packages": [{"path": "packages/*", "name": "@acme/*"}],
        "categories": [{"category": "library", "source": "^packages/ui/"}],
    }
    answer = send(client, CODE + "/preview", {"rules": rules}, "post", headers=bearer).json()
    assert answer["function_count"] == 4
    assert answer["before"]["package"] == {"(none)": 3, "ui": 1}
    assert answer["after"]["package"] == {"(none)": 3, "@acme/ui": 1}
    assert answer["before"]["party"]["Google Tag Manager"] == 1
    assert "Google Tag Manager" not in answer["after"]["party"]
    changes = {move["function"]["id"]: move["changes"] for move in answer["moved"]}
    assert answer["moved_count"] == 2
    assert {"kind": "category", "from": "first-party", "to": "library"} in changes[str(mapped.id)]
    assert {"kind": "party", "from": "Google Tag Manager", "to": "(first party)"} in changes[str(made.id)]
    shop.refresh_from_db()
    assert shop.code_rules == {}


def test_rules_that_take_too_long_are_given_up_with_a_sentence(
    client: Client, shop: Project, bearer: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbols, "SLOW_MATCH_S", 0.0)
    monkeypatch.setattr(symbols, "MAX_SLOW_MATCHES_S", 0.0)
    rules = {"categories": [{"category": "library", "name": "(a|a)*c"}]}
    for answer in (
        send(client, CODE + "/preview", {"rules": rules}, "post", headers=bearer),
        client.get("/api/v1/projects/shop/functions", headers=bearer),
    ):
        assert (answer.status_code, answer.json()["field"]) == (400, "categories")
        assert "shorter patterns" in answer.json()["detail"]


def test_a_moved_and_renamed_function_is_offered_by_its_body_and_an_override_takes_it(
    client: Client, people: People
) -> None:
    project = make_project("cart")
    post("KEY-cart", view("one", "a b", "1.0.0", HASHED["1.0.0"]), view("two", "c a", "2.0.0", HASHED["2.0.0"]))
    fold_all()
    labels = [
        ("a", "1.0.0", "src/main.ts", "main", b"main"),
        ("b", "1.0.0", "src/sum.ts", "sum", b"body"),
        ("c", "2.0.0", "src/main.ts", "main", b"other"),
        ("a", "2.0.0", "src/math/total.ts", "total", b"body"),
    ]
    for name, release, path, original, body in labels:
        make_label(func(project, name, HASHED[release]), release, path, original, body=body, is_shared=True)
    people.owner.is_superuser = True
    people.owner.save()
    client.force_login(people.owner)
    address = "/api/v1/projects/cart/"
    asked = "?base_release=1.0.0&head_release=2.0.0"
    matches = client.get(f"{address}matches{asked}").json()["matches"]
    assert [(match["from"]["label"], match["to"]["label"], match["reason"]) for match in matches] == [
        ("sum", "total", "body")
    ]
    same = [{"from": matches[0]["from"]["id"], "to": matches[0]["to"]["id"]}]
    assert send(client, address + "code", {"rules": {"same_funcs": same}}).status_code == 200
    assert client.get(f"{address}matches{asked}").json()["matches"] == []
    functions = client.get(f"{address}functions").json()["functions"]
    assert {function["label"]: function["views"] for function in functions} == {"main": 2, "total": 2}
    assert client.get(f"{address}functions/{same[0]['to']}/breakdown").status_code == 200


def test_a_release_must_be_named_for_matches(client: Client, shop: Project, bearer: dict[str, str]) -> None:
    answer = client.get("/api/v1/projects/shop/matches?base_release=1", headers=bearer)
    assert (answer.status_code, answer.json()["field"]) == (400, "head_release")
