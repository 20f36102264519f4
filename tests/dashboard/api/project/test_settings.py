"""`settings`: members read retention and quota, admins change them, and nobody else."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from ingest.count_models import DayCount
from projects.models import Project
from tests.dashboard.conftest import People

ADDRESS = "/api/v1/projects/shop/settings"


def patch(client: Client, body: Any, **more: Any) -> Any:  # Any: JSON, what the client takes, and its own responses
    text = body if isinstance(body, str) else json.dumps(body)
    return client.patch(ADDRESS, text, content_type="application/json", **more)


def test_members_read_own_values_defaults_and_what_holds(member: Client, shop: Project, settings: Settings) -> None:
    settings.KEEP_VIEWS_DAYS = 77
    Project.objects.update(keep_raw_days=3)
    answer = member.get(ADDRESS).json()
    assert answer["limits"]["keep_raw_days"] == {"own": 3, "default": 30, "effective": 3}
    assert answer["limits"]["keep_views_days"] == {"own": None, "default": 77, "effective": 77}
    assert (answer["slug"], answer["name"]) == ("shop", "The shop")
    assert (answer["traces_today"], answer["may_change"]) == (None, False)


def test_what_is_used_of_todays_quota_is_answered(member: Client, shop: Project) -> None:
    Project.objects.update(max_traces_per_day=100)
    assert member.get(ADDRESS).json()["traces_today"] == 0
    DayCount.objects.create(project=shop, day_on=datetime.now(UTC).date(), traces=42)
    assert member.get(ADDRESS).json()["traces_today"] == 42


def test_an_admin_changes_some_and_gives_others_back(client: Client, people: People) -> None:
    client.force_login(people.owner)
    assert client.get(ADDRESS).json()["may_change"] is True
    answer = patch(client, {"keep_raw_days": 7, "max_traces_per_day": 0})
    assert answer.status_code == 200
    assert answer.json()["limits"]["keep_raw_days"]["effective"] == 7
    assert patch(client, {"keep_raw_days": None}).status_code == 200
    project = Project.objects.get(slug="shop")
    assert (project.keep_raw_days, project.max_traces_per_day) == (None, 0)


def test_the_link_to_traces_is_changed_with_the_rest_or_not_at_all(client: Client, people: People) -> None:
    client.force_login(people.owner)
    template = "https://traces.example/{trace_id}"
    assert patch(client, {"trace_link_template": template}).json()["trace_link_template"] == template
    assert patch(client, {"trace_link_template": "", "keep_raw_days": 0}).status_code == 400
    assert client.get(ADDRESS).json()["trace_link_template"] == template
    assert patch(client, {"trace_link_template": ""}).json()["trace_link_template"] == ""


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"keep_raw_days": 0}, "keep_raw_days"),
        ({"keep_views_days": 36_501}, "keep_views_days"),
        ({"keep_cells_days": "30"}, "keep_cells_days"),
        ({"max_traces_per_day": True}, "max_traces_per_day"),
        ({"max_traces_per_day": -1}, "max_traces_per_day"),
        ({"slug": "mine"}, "slug"),
        ({"trace_link_template": "https://traces.example/"}, "trace_link_template"),
        ({"trace_link_template": None}, "trace_link_template"),
        ({"a\ud800": 1}, "a\ufffd"),
        ([], "$"),
    ],
)
def test_a_bad_value_is_400_and_named_and_changes_nothing(
    client: Client, people: People, body: Any, field: str
) -> None:
    client.force_login(people.owner)
    response = patch(client, {"keep_raw_days": 5, **body} if isinstance(body, dict) else body)
    assert (response.status_code, json.loads(response.content)["field"]) == (400, field)
    assert Project.objects.get(slug="shop").keep_raw_days is None


def test_what_is_no_json_is_400(client: Client, people: People) -> None:
    client.force_login(people.owner)
    assert patch(client, "{").status_code == 400


def test_members_tokens_strangers_and_the_anonymous_change_nothing(
    client: Client, people: People, bearer: dict[str, str]
) -> None:
    change = {"keep_raw_days": 1}
    assert patch(client, change).status_code == 401
    assert patch(client, change, headers=bearer).status_code == 403
    client.force_login(people.member)
    assert patch(client, change).status_code == 403
    client.force_login(people.stranger)
    assert patch(client, change).status_code == 404
    assert Project.objects.get(slug="shop").keep_raw_days is None


def test_a_session_needs_its_csrf_token(people: People) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(people.owner)
    assert patch(careful, {"keep_raw_days": 1}).status_code == 403
    careful.cookies["csrftoken"] = "a" * 32
    assert patch(careful, {"keep_raw_days": 1}, headers={"X-CSRFToken": "a" * 32}).status_code == 200


def test_other_methods_are_not_answered(client: Client, people: People) -> None:
    client.force_login(people.owner)
    assert client.put(ADDRESS, "{}", content_type="application/json").status_code == 405
    assert client.delete(ADDRESS).status_code == 405


def test_members_read_what_pages_record(member: Client, shop: Project) -> None:
    Project.objects.update(collection_rate=0.1, collection_pages=[["/a/*", 1]])
    assert member.get(ADDRESS).json()["collection"] == {
        "off": False,
        "rate": 0.1,
        "pages": [["/a/*", 1]],
        "duration_ms": None,
        "interactions": False,
        "absent_rate": None,
        "only_slow": False,
        "whole_rate": None,
        "experiment_rate": None,
    }
    assert patch(member, {"collection": {"off": True}}).status_code == 403


def test_an_admin_changes_some_fields_of_what_pages_record(client: Client, people: People) -> None:
    client.force_login(people.owner)
    fields = {"rate": 0.5, "pages": [["/b", 0]], "duration_ms": 5_000, "off": True}
    assert patch(client, {"collection": fields}).status_code == 200
    answer = patch(client, {"collection": {"rate": None, "off": None, "pages": None}, "keep_raw_days": 9})
    assert answer.status_code == 200
    project = Project.objects.get(slug="shop")
    assert (project.collection_rate, project.collection_pages, project.collection_off) == (None, [], False)
    assert (project.collection_duration_ms, project.keep_raw_days) == (5_000, 9)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"collection": []}, "collection"),
        ({"collection": {"rate": 2}, "keep_raw_days": 9}, "rate"),
        ({"collection": {"rate": 0.2}, "keep_raw_days": 0}, "keep_raw_days"),
        ({"collection": {"pages": [["/a?", 1]]}}, "pages"),
        ({"collection": {"colour": 1}}, "colour"),
        ({"collection": {"a\ud800": 1}}, "a\ufffd"),
    ],
)
def test_a_wrong_field_of_what_pages_record_changes_nothing(
    client: Client, people: People, body: object, field: str
) -> None:
    client.force_login(people.owner)
    answer = patch(client, body)
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    project = Project.objects.get(slug="shop")
    assert (project.collection_rate, project.keep_raw_days) == (None, None)
