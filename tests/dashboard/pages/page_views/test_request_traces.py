"""A page view and its trace in a tracing system: from one to the other, and gone with the view."""

import json
import re
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from aggregate.maintenance.erasing import erase_view
from aggregate.selectors.search.place_hits import find_views
from projects.models import Membership, Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.dashboard.conftest import People
from tests.dashboard.pages.reading import text_of
from tests.envelopes import make_envelope, view_id_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
TRACED = "/projects/traced/"


@pytest.fixture
def project(people: People) -> Project:
    """A view of a trace, another of a late one, a third without any, and one that waits."""
    made = make_project("traced")
    Membership.objects.create(project=made, user=people.member)
    post(
        "KEY-traced",
        make_envelope("one", "A", requestTrace=PARENT),
        make_envelope("late", "A"),
        make_envelope("late", "A", seq=1, requestTrace="order-77"),
        make_envelope("none", "A"),
    )
    fold_all()
    post("KEY-traced", make_envelope("pending", "A", page="/new", requestTrace=TRACE))
    return made


def views_of(client: Client, query: str) -> list[Any]:  # Any: JSON
    return [view["view"] for view in json.loads(client.get(f"/api/v1{TRACED}views?{query}").content)["views"]]


@pytest.mark.parametrize("text", [TRACE, TRACE.upper(), PARENT])
def test_a_trace_finds_its_views(member: Client, project: Project, text: str) -> None:
    assert views_of(member, f"trace_id={text}") == [view_id_of("one")]
    answer = json.loads(member.get(f"/api/v1{TRACED}views?trace_id={text}").content)
    assert [trace["request_trace"] for view in answer["views"] for trace in view["traces"]] == [TRACE]


def test_a_trace_that_is_named_late_is_that_of_the_whole_view(member: Client, project: Project) -> None:
    assert views_of(member, "trace_id=order-77") == [view_id_of("late")]


@pytest.mark.parametrize("query", ["trace_id=unknown", "trace_id=two+words", "trace_id=order-77&release=9.9.9"])
def test_no_other_views_are_listed(member: Client, project: Project, query: str) -> None:
    assert views_of(member, query) == []
    assert views_of(member, f"trace_id={TRACE}&view={view_id_of('none')}") == []


def test_the_page_of_a_view_shows_its_trace_with_the_projects_link(member: Client, project: Project) -> None:
    address = f"{TRACED}views/{view_id_of('one')}/"
    assert f"trace {TRACE}" in text_of(member, address)
    assert TRACE not in text_of(member, f"{TRACED}views/{view_id_of('none')}/")
    Project.objects.update(trace_link_template="https://traces.example/{trace_id}?from=ff")
    page = member.get(address).content.decode()
    assert f'href="https://traces.example/{TRACE}?from=ff" rel="noopener noreferrer"' in page


def test_the_search_opens_the_views_of_a_pasted_trace(member: Client, project: Project) -> None:
    found = member.get(f"{TRACED}search/results/?find={PARENT}").content.decode()
    links = re.findall(r'href="(/projects/traced/views/[^"?]*)', found)
    assert sorted(links) == sorted(f"{TRACED}views/{view_id_of(name)}/" for name in ("one", "pending"))
    assert member.get(links[0]).status_code == 200
    assert "Page views of this trace" not in member.get(f"{TRACED}search/results/?find=cart").content.decode()


def test_an_erased_view_is_found_no_more(project: Project) -> None:
    erase_view(project.pk, UUID(view_id_of("one")))
    assert [view.view_id for view in find_views([project.pk], TRACE, limit=9)] == [UUID(view_id_of("pending"))]


def test_views_of_other_projects_are_not_found(client: Client, project: Project) -> None:
    elsewhere = Project.objects.get(slug="elsewhere")
    assert find_views([elsewhere.pk], TRACE, limit=9) == []
