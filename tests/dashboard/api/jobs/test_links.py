"""Links to exports: good for what they were made for, until they expire, from any origin, without credentials."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from dashboard.api.jobs.signing import sign_link
from projects.models import ApiToken, Membership, Project
from projects.tokens import create_token
from tests.builders import make_cell, make_func, make_hotspot, make_receipt, make_view
from tests.dashboard.conftest import People

LINKS = "/api/v1/projects/shop/links"


def make_link(client: Client, params: dict[str, Any], **more: Any) -> dict[str, Any]:
    response = client.post(LINKS, json.dumps({"params": params, **more}), content_type="application/json")
    assert response.status_code == 201, response.content
    link: dict[str, Any] = response.json()
    return link


def follow(url: str, **headers: str) -> Any:
    """Fetches a link as a viewer does: no cookies, an origin of its own."""
    parts = urlsplit(url)
    return Client().get(parts.path, headers={"Origin": "https://profiler.firefox.com", **headers})


def body_of(response: Any) -> dict[str, Any]:
    profile: dict[str, Any] = json.loads(b"".join(response.streaming_content))
    return profile


def test_a_link_leads_to_the_export_without_credentials_from_any_origin(member: Client) -> None:
    link = make_link(member, {"format": "firefox", "page": "/cart", "release": ["1.0.0"]})
    response = follow(link["url"])
    assert response.status_code == 200
    assert response["Access-Control-Allow-Origin"] == "*"
    assert response["Cache-Control"] == "private, no-store"
    shared = body_of(response)
    download = body_of(member.get("/api/v1/projects/shop/profile?format=firefox&page=/cart&release=1.0.0"))
    assert shared == download
    assert link["url"].endswith(".json")


def test_a_link_says_where_to_view_it(member: Client) -> None:
    link = make_link(member, {"format": "firefox", "page": "/cart"})
    parts = urlsplit(link["viewer_url"])
    assert parts.netloc == "profiler.firefox.com"
    kind, fetched, tab = parts.path.strip("/").split("/")
    assert (kind, unquote(fetched), tab) == ("from-url", link["url"], "calltree")
    assert link["compare_url"] is None
    assert make_link(member, {"format": "speedscope"})["viewer_url"] is None


def test_a_difference_is_compared_by_its_sides_base_first(member: Client, shop: Project) -> None:
    cell = make_cell(shop, release="2.0.0", js_us=5_000)
    make_hotspot(cell, make_func(shop, "draw"), self_us=5_000, total_us=5_000)
    link = make_link(member, {"format": "firefox", "base_release": "1.0.0", "head_release": "2.0.0"})
    names = [thread["name"] for thread in body_of(follow(link["url"]))["threads"]]
    sides = parse_qs(urlsplit(link["compare_url"]).query)["profiles[]"]
    threads = [int(parse_qs(urlsplit(side).query)["thread"][0]) for side in sides]
    assert [names[thread].partition(":")[0] for thread in threads] == ["Base", "Head"]
    assert parse_qs(urlsplit(link["compare_url"]).query)["profileName"] == [link["url"].rpartition("/")[2]]
    assert all(unquote(urlsplit(side).path.split("/")[2]) == link["url"] for side in sides)


def test_a_link_expires_and_says_so_with_410(people: People, shop: Project) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    response = follow(sign_link(shop, [("format", "firefox")], past, "x.json", maker=people.member))
    assert (response.status_code, response["Access-Control-Allow-Origin"]) == (410, "*")
    assert "expired" in response.json()["detail"]


def assert_ended(url: str) -> None:
    response = follow(url)
    assert (response.status_code, response["Access-Control-Allow-Origin"]) == (410, "*")
    assert "can no longer read the project" in response.json()["detail"]


def test_a_link_ends_with_the_token_that_made_it_and_with_no_other(shop: Project) -> None:
    tokens = [create_token(project=shop) for _ in range(2)]
    body = json.dumps({"params": {"format": "firefox"}})
    urls = []
    for _, clear in tokens:
        bearer = {"Authorization": f"Bearer {clear}"}
        urls.append(Client().post(LINKS, body, content_type="application/json", headers=bearer).json()["url"])
    ApiToken.objects.filter(pk=tokens[0][0].pk).update(revoked_at=datetime.now(UTC))
    assert_ended(urls[0])
    assert follow(urls[1]).status_code == 200
    ApiToken.objects.filter(pk=tokens[1][0].pk).delete()
    assert_ended(urls[1])


def test_a_link_ends_when_its_maker_leaves_the_project(member: Client, people: People) -> None:
    url = make_link(member, {"format": "firefox"})["url"]
    Membership.objects.filter(user=people.member).delete()
    assert_ended(url)


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_link_ends_when_its_maker_may_not_log_in_any_more(member: Client, people: People, is_deleted: bool) -> None:
    url = make_link(member, {"format": "firefox"})["url"]
    if is_deleted:
        people.member.delete()
    else:
        User.objects.filter(pk=people.member.pk).update(is_active=False)
    assert_ended(url)


def test_a_link_outlives_the_session_it_was_made_in(member: Client) -> None:
    url = make_link(member, {"format": "firefox"})["url"]
    member.logout()
    assert follow(url).status_code == 200


def test_a_user_and_a_token_of_one_number_are_two_makers(member: Client, people: People, shop: Project) -> None:
    url = make_link(member, {"format": "firefox"})["url"]
    token, _ = create_token(project=shop)
    ApiToken.objects.filter(pk=token.pk).update(id=people.member.pk)
    Membership.objects.filter(user=people.member).delete()
    assert_ended(url)


def test_a_link_is_good_for_as_long_as_it_says(member: Client, settings: Settings) -> None:
    settings.EXPORT_LINK_DEFAULT_S = 120
    for more, seconds in (({}, 120), ({"expires_in_s": 600}, 600)):
        link = make_link(member, {"format": "firefox"}, **more)
        left = datetime.fromisoformat(link["expires_at"]) - datetime.now(UTC)
        assert timedelta(seconds=seconds - 10) < left <= timedelta(seconds=seconds)


def test_a_link_to_what_is_too_large_does_not_point_to_jobs(member: Client, shop: Project, settings: Settings) -> None:
    params = {"format": "firefox", "tag": "cache:warm"}
    link = make_link(member, params)
    settings.READ_MAX_VIEWS = 0
    make_view(make_cell(shop, page="/list"), make_receipt(shop, page="/list"))
    download = member.get("/api/v1/projects/shop/profile", params)
    shared = follow(link["url"])
    assert (download.status_code, shared.status_code) == (400, 400)
    assert "POST /api/v1/projects/shop/jobs" in download.json()["detail"]
    assert "POST" not in shared.json()["detail"]
    assert shared.json()["detail"]


@pytest.mark.parametrize("cut", [slice(0, -1), slice(1, None), slice(0, 10)])
def test_a_link_that_was_not_made_here_is_404_and_never_403(member: Client, cut: slice) -> None:
    path = urlsplit(make_link(member, {"format": "firefox"})["url"]).path
    *head, token, name = path.split("/")
    response = follow("/".join([*head, token[cut], name]))
    assert response.status_code == 404
    assert response["Access-Control-Allow-Origin"] == "*"


def test_a_change_of_the_secret_key_ends_all_links(member: Client, settings: Settings) -> None:
    link = make_link(member, {"format": "firefox"})
    settings.SECRET_KEY = "another"
    assert follow(link["url"]).status_code == 404


def test_a_link_ends_with_its_project(member: Client, shop: Project) -> None:
    link = make_link(member, {"format": "firefox"})
    Project.objects.filter(pk=shop.pk).delete()
    assert follow(link["url"]).status_code == 404


def test_a_link_takes_no_parameters_from_its_address(member: Client) -> None:
    link = make_link(member, {"format": "collapsed", "page": "/cart"})
    response: Any = Client().get(urlsplit(link["url"]).path + "?page=/other&format=csv")
    assert response["Content-Type"].startswith("text/plain")
    assert b"draw" in b"".join(response.streaming_content)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"params": {"format": "nonsense"}}, "format"),
        ({"params": {}}, "format"),
        ({"params": {"format": "firefox", "relaese": "1"}}, "relaese"),
        ({"params": {"format": "firefox"}, "expires_in_s": 59}, "expires_in_s"),
        ({"params": {"format": "firefox"}, "expires_in_s": 10**9}, "expires_in_s"),
        ({"params": {"format": "firefox"}, "expires_in_s": True}, "expires_in_s"),
        ({"params": {"format": "firefox"}, "expires_in_s": "3600"}, "expires_in_s"),
        ({"params": {"format": "firefox"}, "forever": 1}, "forever"),
        ({"\ud800": 1}, "\ufffd"),
        ({"params": {"\ud800": None}}, "\ufffd"),
        ([], "params"),
    ],
)
def test_a_bad_request_for_a_link_is_400_and_named(member: Client, body: Any, field: str) -> None:
    response = member.post(LINKS, json.dumps(body), content_type="application/json")
    assert response.status_code == 400
    assert response.json()["field"] == field


def test_only_readers_of_a_project_make_links(people: People, shop: Project, bearer: dict[str, str]) -> None:
    body = json.dumps({"params": {"format": "firefox"}})
    anyone = Client()
    assert anyone.post(LINKS, body, content_type="application/json").status_code == 401
    assert anyone.post(LINKS, body, content_type="application/json", headers=bearer).status_code == 201
    stranger = Client()
    stranger.force_login(people.stranger)
    assert stranger.post(LINKS, body, content_type="application/json").status_code == 404
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(people.member)
    assert strict.post(LINKS, body, content_type="application/json").status_code == 403
