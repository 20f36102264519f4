"""`views/{id}/timeline`: one view by columns, on its clock, for its project's readers alone."""

import gzip
import json
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from ingest.models import RawTrace
from projects.models import Membership, Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.dashboard.conftest import People
from tests.envelopes import TIME_ORIGIN_MS, make_envelope, view_id_of

ADDRESS = f"/api/v1/projects/web/views/{view_id_of('a')}/timeline"


@pytest.fixture
def view(people: People) -> Project:
    """A project of the member's with a view: 10 ms of A, 20 of A calling B, 20 hidden, idle; a second trace of A."""
    web = make_project("web")
    Membership.objects.create(project=web, user=people.member)
    marks = [
        {"type": "longtask", "start": 10, "duration": 40},
        {"type": "loaf", "start": 10, "duration": 41, "scripts": [{"function": "f", "url": "/a.js?k=1", "forced": 3}]},
        {"type": "lcp", "start": 25, "url": "https://shop.example/hero.png?secret=1"},
    ]
    first = make_envelope("a", "A\nA B\nA B\n-\n-\n-", page="/a", marks=marks, reason="timer", navigation="prerender")
    second = make_envelope("a", "A", seq=1, page="/a", timeOrigin=TIME_ORIGIN_MS + 500, viewStart=TIME_ORIGIN_MS)
    post("KEY-web", first, second)
    fold_all()
    return web


def ask(client: Client, query: str = "") -> dict[str, Any]:
    response = client.get(f"{ADDRESS}?{query}" if query else ADDRESS)
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def test_samples_of_all_traces_are_on_one_clock(member: Client, view: Project) -> None:
    answer = ask(member)
    assert (answer["device"], answer["browser"], answer["navigation"]) == ("unknown", "unknown", "prerender")
    samples = answer["samples"]
    assert samples["time_ms"] == [0, 10, 20, 30, 40, 50, 500]
    assert samples["weight_ms"] == [10] * 7
    assert [answer["kinds"][kind] for kind in samples["kind"]] == ["js", "js", "js", "hidden", "hidden", "idle", "js"]
    assert samples["trace"] == [0, 0, 0, 0, 0, 0, 1]
    labels = answer["functions"]["label"]
    stacks = answer["stacks"]

    def path(stack: int) -> str:
        names = []
        while stack >= 0:
            names.append(labels[stacks["function"][stack]])
            stack = stacks["prefix"][stack]
        return " ".join(reversed(names))

    assert [path(stack) for stack in samples["stack"]] == ["A", "A B", "A B", "", "", "", "A"]
    assert [path(stack) for stack in samples["hidden_stack"]] == ["", "", "", "", "", "", ""]
    assert answer["time_ms"] == {
        "js": 40,
        "hidden": 20,
        "engine": 0,
        "idle": 10,
        "unobserved": 0,
        "profiler": 0,
        "span": 70,
    }
    assert [(trace["seq"], trace["start_ms"], trace["end_ms"]) for trace in answer["traces"]] == [
        (0, 0, 60),
        (1, 500, 510),
    ]
    assert answer["long_tasks"] == {"start_ms": [10], "end_ms": [50]}
    assert answer["traces"][0]["reason"] == "timer"


def test_functions_have_the_ids_of_tables(member: Client, view: Project) -> None:
    answer = ask(member)
    table = member.get(f"/api/v1/projects/web/functions?view={view_id_of('a')}").json()["functions"]
    ids = dict(zip(answer["functions"]["label"], answer["functions"]["id"], strict=True))
    assert {row["label"]: row["id"] for row in table} == ids


def test_marks_come_with_their_facts_and_no_secrets(member: Client, view: Project) -> None:
    marks = {mark["type"]: mark for mark in ask(member)["marks"]}
    lcp = marks["largest-contentful-paint"]
    assert (lcp["start_ms"], lcp["facts"]) == (25, {"url": "https://shop.example/hero.png"})
    assert marks["longtask"]["duration_ms"] == 40
    assert marks["long-animation-frame"]["scripts"] == [{"forced": 3, "function": "f", "url": "/a.js"}]


def test_an_unchanged_view_is_not_sent_again(member: Client, view: Project) -> None:
    first = member.get(ADDRESS, headers={"Accept-Encoding": "gzip"})
    assert json.loads(gzip.decompress(first.content))["view"] == view_id_of("a")
    headers = {"Accept-Encoding": "gzip", "If-None-Match": first["ETag"]}
    assert member.get(ADDRESS, headers=headers).status_code == 304
    post("KEY-web", make_envelope("a", "C", seq=2, page="/a", timeOrigin=TIME_ORIGIN_MS + 900))
    fold_all()
    assert member.get(ADDRESS, headers=headers).status_code == 200


def test_a_view_of_two_pages_is_asked_for_by_page(member: Client, view: Project) -> None:
    post("KEY-web", make_envelope("a", "Z", seq=5, page="/z", timeOrigin=TIME_ORIGIN_MS + 900))
    fold_all()
    assert ask(member)["page"] == "/a"
    answer = ask(member, "page=/z&release=1.0.0")
    assert (answer["page"], len(answer["samples"]["time_ms"]), answer["functions"]["name"]) == ("/z", 1, ["Z"])


@pytest.mark.parametrize("other", [view_id_of("nobody"), "x", "%00", "1.2", view_id_of("a") + "0"])
def test_what_is_no_view_of_the_project_is_404(member: Client, view: Project, other: str) -> None:
    assert member.get(ADDRESS.replace(view_id_of("a"), other)).status_code == 404


def test_other_projects_views_are_404(client: Client, people: People, view: Project) -> None:
    make_project("third")
    post("KEY-third", make_envelope("theirs", "A", page="/a"))
    fold_all()
    client.force_login(people.member)
    assert client.get(ADDRESS.replace(view_id_of("a"), view_id_of("theirs"))).status_code == 404
    client.force_login(people.stranger)
    for address in (ADDRESS, ADDRESS.replace("web", "elsewhere"), ADDRESS + "?nonsense=1"):
        assert client.get(address).status_code == 404


def test_it_takes_a_token_and_no_writing(client: Client, view: Project) -> None:
    assert client.get(ADDRESS).status_code == 401
    _, clear = create_token(project=view)
    headers = {"Authorization": f"Bearer {clear}"}
    assert client.get(ADDRESS, headers=headers).status_code == 200
    assert client.post(ADDRESS, headers=headers).status_code == 405


def test_beyond_the_bound_it_says_where_else_to_look(member: Client, view: Project, settings: Settings) -> None:
    settings.TIMELINE_MAX_SAMPLES = 6
    response = member.get(ADDRESS)
    assert response.status_code == 400
    assert response.json()["field"] == "view"
    assert "7 samples" in response.json()["detail"]
    assert "Firefox Profiler" in response.json()["detail"]


def test_without_raw_bodies_it_says_that_they_have_expired(member: Client, view: Project) -> None:
    RawTrace.objects.filter(project_id=view.pk, seq=1, view_id=view_id_of("a")).delete()
    response = member.get(ADDRESS)
    assert response.status_code == 400
    assert "expired" in response.json()["detail"]


def test_unknown_parameters_are_refused(member: Client, view: Project) -> None:
    assert member.get(ADDRESS + "?limit=1").json()["field"] == "limit"


def test_functions_are_shown_by_the_display_rules_unless_asked_for_as_stored(member: Client, view: Project) -> None:
    view.display_rules = [{"action": "fold", "field": "name", "pattern": "*", "title": "All", "colour": "teal"}]
    view.save()
    answer = ask(member)
    assert answer["functions"]["label"] == ["All"]
    assert (answer["functions"]["is_group"], answer["functions"]["colour"]) == ([True], ["teal"])
    assert answer["stacks"] == {"prefix": [-1], "function": [0]}
    assert answer["samples"]["stack"] == [0, 0, 0, -1, -1, -1, 0]
    plain = ask(member, "display=none")
    assert plain["functions"]["label"] == ["A", "B"]
    assert plain["samples"]["weight_ms"] == answer["samples"]["weight_ms"]
    tags = {member.get(f"{ADDRESS}{query}")["ETag"] for query in ("", "?display=none")}
    assert len(tags) == 2
    page = f"/projects/web/views/{view_id_of('a')}/"
    assert "display-line" in member.get(page).content.decode()
    assert "timeline?release=1.0.0&amp;page=/a&amp;display=none" in member.get(page + "?display=none").content.decode()
