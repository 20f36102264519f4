"""Drill-down: a func's breakdown, callers and callees, the call tree, views, traces and raw bytes."""

import gzip
from typing import Any

import pytest
from django.test import Client

from projects.models import Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project, make_receipt
from tests.dashboard.conftest import RAW_BODY, TRACE_ID, People
from tests.envelopes import make_envelope, view_id_of

API = "/api/v1/projects/shop/"


def ask(client: Client, address: str) -> dict[str, Any]:
    response = client.get(API + address)
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def test_callers_callees_and_breakdown_tell_the_same_time(member: Client) -> None:
    (caller,) = ask(member, "functions/2/callers")["callers"]
    assert (caller["function"]["name"], caller["self_ms"], caller["total_ms"]) == ("main", 7.0, 7.0)
    (callee,) = ask(member, "functions/1/callees")["callees"]
    assert (callee["function"]["name"], callee["total_ms"]) == ("draw", 7.0)
    (root,) = ask(member, "functions/1/callers")["callers"]
    assert (root["function"], root["total_ms"]) == (None, 9.0)
    (page,) = ask(member, "functions/2/breakdown?by=page")["breakdown"]
    assert (page["value"], page["views"], page["self_ms"], page["self_ms_per_view"]) == ("/cart", 1, 7.0, 7.0)


def test_the_call_tree_says_what_was_pruned(member: Client) -> None:
    answer = ask(member, "calltree?max_nodes=1")
    assert [node["total_ms"] for node in answer["nodes"]] == [9.0]
    assert answer["pruned"] == {"nodes": 1, "self_ms": 7.0}
    assert [func["name"] for func in answer["functions"]] == ["main"]


def test_traces_come_page_by_page_each_once(member: Client, shop: Project) -> None:
    for _ in range(4):
        make_receipt(shop)
    seen: list[str] = []
    address: str | None = "traces?limit=2"
    while address:
        answer = ask(member, address)
        seen += [trace["view"] for trace in answer["traces"]]
        address = answer["cursor"] and f"traces?limit=2&cursor={answer['cursor']}"
    assert len(seen) == len(set(seen)) == 5
    assert seen == sorted(seen)


def test_a_trace_is_found_by_its_id_and_by_view_and_number(member: Client) -> None:
    trace = ask(member, f"traces/{TRACE_ID}")
    assert (trace["id"], trace["state"], trace["has_raw"], trace["end_reason"]) == (TRACE_ID, "folded", True, "stop")
    assert (trace["interval_ms"], trace["requested_interval_ms"], trace["reason"]) == (10.0, None, None)
    assert ask(member, f"traces/{trace['view']}.0") == trace


def test_the_raw_body_comes_as_it_is_kept_or_expanded(client: Client, people: People) -> None:
    client.force_login(people.owner)
    packed = client.get(API + f"traces/{TRACE_ID}/raw", headers={"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == RAW_BODY
    plain = client.get(API + f"traces/{TRACE_ID}/raw")
    assert not plain.has_header("Content-Encoding")
    assert plain.content == RAW_BODY
    assert plain["Content-Disposition"] == f'attachment; filename="trace-{TRACE_ID}.json"'
    assert plain["Cache-Control"] == "private, no-cache"


def test_another_projects_trace_and_func_are_not_there(client: Client, people: People, shop: Project) -> None:
    client.force_login(people.stranger)
    base = "/api/v1/projects/elsewhere/"
    for address in (f"traces/{TRACE_ID}", f"traces/{TRACE_ID}/raw", "functions/1/breakdown"):
        assert client.get(base + address).status_code == 404
    assert make_project("third").slug == "third"


@pytest.mark.parametrize("ref", ["1", "x", "%00", "9" * 40, "-1", "²", f"{TRACE_ID}.99999999999", f"{TRACE_ID}.x", "'"])
def test_hostile_references_are_404(client: Client, people: People, ref: str) -> None:
    client.force_login(people.owner)
    for address in (f"traces/{ref}", f"traces/{ref}/raw"):
        assert client.get(API + address).status_code == 404
    if ref != "1":
        for name in ("breakdown", "callers", "callees"):
            assert client.get(API + f"functions/{ref}/{name}").status_code == 404


@pytest.mark.parametrize(
    ("address", "field"),
    [
        ("functions/1/breakdown?by=colour", "by"),
        ("functions/1/breakdown?view=x", "view"),
        ("calltree?min_share=2", "min_share"),
        ("calltree?min_share=nan", "min_share"),
        ("calltree?max_nodes=0", "max_nodes"),
        ("traces?cursor=x", "cursor"),
        ("traces?limit=1001", "limit"),
        ("traces?tag=a", "tag"),
        ("views?order=best", "order"),
        ("views?func=x", "func"),
        ("views?func=99999999999", "func"),
        ("pages?view=" + TRACE_ID, "view"),
    ],
)
def test_a_bad_parameter_is_400_and_named(member: Client, address: str, field: str) -> None:
    response = member.get(API + address)
    assert response.status_code == 400
    assert response.json()["field"] == field


@pytest.mark.django_db
def test_views_and_traces_take_tags_and_traces_and_a_breakdown_any_slice(client: Client) -> None:
    project = make_project("site")
    post(
        "KEY-site",
        make_envelope("a", "A", tags={"cache": "warm"}),
        make_envelope("b", "A\nA", tags={"cache": "cold"}),
        make_envelope("c", "A\nA\nA", tags={"cache": "warm"}),
    )
    fold_all()
    _, clear = create_token(project=project)

    def fetch(address: str) -> dict[str, Any]:
        response = client.get(f"/api/v1/projects/site/{address}", headers={"Authorization": f"Bearer {clear}"})
        assert response.status_code == 200, response.content
        answer: dict[str, Any] = response.json()
        return answer

    warm = {view_id_of("a"), view_id_of("c")}
    traces = fetch("traces?tag=cache:warm")
    assert ({trace["view"] for trace in traces["traces"]}, traces["cursor"]) == (warm, None)
    views = fetch("views?tag=cache:warm&order=worst")
    assert (views["source"], [view["js_ms"] for view in views["views"]]) == ("raw", [30.0, 10.0])
    one = fetch(f"views?trace={traces['traces'][0]['id']}")
    assert [view["view"] for view in one["views"]] == [traces["traces"][0]["view"]]
    assert fetch("views")["source"] == "contributions"
    func = fetch("functions")["functions"][0]["id"]
    for query, source, self_ms in (
        ("", "cells", 60.0),
        (f"&view={view_id_of('b')}", "contributions", 20.0),
        ("&tag=cache:warm", "raw", 40.0),
        (f"&func_over={func}:15", "contributions", 50.0),
    ):
        breakdown = fetch(f"functions/{func}/breakdown?by=page{query}")
        assert (breakdown["source"], [row["self_ms"] for row in breakdown["breakdown"]]) == (source, [self_ms])
