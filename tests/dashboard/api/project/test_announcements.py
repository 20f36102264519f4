"""Builds announce releases; `releases`, verdicts and pages then name their commits."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from aggregate.selectors.project.announcements import find_commits
from aggregate.selectors.slice.slices import Slice
from projects.models import AnnouncedRelease, Project
from projects.releases import announce_release
from projects.tokens import create_token
from tests.aggregate.selectors.two_releases import TIMES
from tests.builders import MONDAY, make_group, make_views_of_hours
from tests.dashboard.conftest import People
from tests.dashboard.pages.reading import HOSTILE, html_of, text_of
from tests.dashboard.web.guests.guests import below, open_as_guest, share

API = "/api/v1/projects/shop/"
RANGE = "https://code.example/shop/compare/{base}...{head}"
WHOLE = {
    "release": "2.0.0",
    "commit": "c0ffee2",
    "base_commit": "c0ffee1",
    "released_at": "2026-11-17T09:30:00+02:00",
    "author": "Anna",
    "link": "https://code.example/shop/pull/7",
    "range_link": RANGE,
    "rolled_back_at": "2026-11-17T12:00:00Z",
}
NOW = datetime.now(UTC)


@pytest.fixture
def build(client: Client, shop: Project) -> dict[str, str]:
    """The headers of a build's token."""
    _, clear = create_token(project=shop, scopes=["sourcemaps"])
    return {"Authorization": f"Bearer {clear}"}


@pytest.fixture
def releases(shop: Project) -> Project:
    """Releases 2.0.0 and 3.0.0 of the shop, forty views each."""
    for number, release in enumerate(("2.0.0", "3.0.0")):
        make_group(shop, release, "/cart", first_seen_at=MONDAY + timedelta(days=number + 1))
        times = [us + 15_000 * number for us in TIMES]
        make_views_of_hours(shop, times, release=release, starts_at=MONDAY + timedelta(days=number + 1))
    return shop


def announce(client: Client, body: object, headers: dict[str, str] | None = None) -> Any:  # Any: Django's test response
    return client.post(API + "releases", body, content_type="application/json", headers=headers)


def test_a_build_announces_its_release(client: Client, shop: Project, build: dict[str, str]) -> None:
    answer = announce(client, {"release": "2.0.0"}, build)
    announced = answer.json()
    assert (answer.status_code, announced.pop("release"), announced.pop("announced_at")[:2]) == (200, "2.0.0", "20")
    assert set(announced.values()) == {None}
    assert [row.release for row in AnnouncedRelease.objects.filter(project=shop)] == ["2.0.0"]


def test_what_is_said_about_a_release_is_kept_and_can_be_said_again(
    client: Client, shop: Project, build: dict[str, str], bearer: dict[str, str]
) -> None:
    for _ in range(2):
        announced = announce(client, WHOLE, build).json()
        announced.pop("announced_at")
        assert announced.pop("first_seen_at") is None
        assert announced == {**WHOLE, "released_at": "2026-11-17T07:30:00Z"}
    make_group(shop, "2.0.0", "/cart")
    assert announce(client, {"release": "2.0.0"}, build).json()["first_seen_at"] is not None
    first = client.get(API + "releases", headers=bearer).json()["releases"][0]
    assert {**announced, "announced_at": first["announced"]["announced_at"]} == {
        "release": "2.0.0",
        **first["announced"],
    }
    assert AnnouncedRelease.objects.filter(project=shop).count() == 1


def test_a_field_that_is_not_named_stays_and_null_removes_it(
    client: Client, shop: Project, build: dict[str, str]
) -> None:
    announce(client, WHOLE, build)
    announce_release(shop.pk, "2.0.0", NOW)  # as an upload of source maps does
    announced = announce(client, {"release": "2.0.0", "author": None}, build).json()
    assert (announced["author"], announced["commit"], announced["range_link"]) == (None, "c0ffee2", RANGE)


def test_readers_cannot_announce(client: Client, member: Client, shop: Project, bearer: dict[str, str]) -> None:
    assert announce(client, {"release": "2.0.0"}, bearer).status_code == 403
    assert announce(member, {"release": "2.0.0"}).status_code == 403
    assert not AnnouncedRelease.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "release"),
        ({"release": 7}, "release"),
        ({"release": ""}, "release"),
        ({"x": 1}, "x"),
        ([], "$"),
        ({"commit": ""}, "commit"),
        ({"commit": "a b"}, "commit"),
        ({"commit": "a" * 65}, "commit"),
        ({"commit": ["c0ffee"]}, "commit"),
        ({"base_commit": "../main"}, "base_commit"),
        ({"released_at": "yesterday"}, "released_at"),
        ({"released_at": 1}, "released_at"),
        ({"released_at": "1999-12-31T00:00:00Z"}, "released_at"),
        ({"released_at": "0001-01-01T00:00:00+14:00"}, "released_at"),
        ({"released_at": (NOW + timedelta(days=9)).isoformat()}, "released_at"),
        ({"author": " "}, "author"),
        ({"author": "a\nb"}, "author"),
        ({"author": "a" * 201}, "author"),
        ({"link": "javascript:alert(1)"}, "link"),
        ({"link": "JAVASCRIPT://x/%0aalert(1)"}, "link"),
        ({"link": "data:text/html,x"}, "link"),
        ({"link": "//code.example/x"}, "link"),
        ({"link": "https://"}, "link"),
        ({"link": "https://anna:secret@code.example/"}, "link"),
        ({"link": 'https://code.example/"onclick=x'}, "link"),
        ({"link": "https://code.example:port/"}, "link"),
        ({"link": "https://[::1/"}, "link"),
        ({"link": "https://code.example/" + "a" * 2_000}, "link"),
        ({"range_link": "https://code.example/compare/a...b"}, "range_link"),
        ({"range_link": "https://code.example/{base}...{base}"}, "range_link"),
        ({"range_link": "https://code.example/{base}/{head}/{release}"}, "range_link"),
        ({"range_link": "https://{base}.example/{head}"}, "range_link"),
        ({"range_link": "javascript:{base}/{head}"}, "range_link"),
    ],
)
def test_a_bad_announcement_names_its_field(
    client: Client, shop: Project, build: dict[str, str], body: Any, field: str
) -> None:
    whole = body if field in ("release", "$", "x") else {"release": "2.0.0", **body}
    answer = announce(client, whole, build)
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert not AnnouncedRelease.objects.exists()


def commits_of(project: Project, base: str = "2.0.0", head: str = "3.0.0") -> tuple[str | None, str, str | None] | None:
    commits = find_commits(
        Slice(project_id=project.pk, releases=(base,)), Slice(project_id=project.pk, releases=(head,))
    )
    return None if commits is None else (commits.first, commits.last, commits.link)


def test_commits_are_those_between_two_announced_releases(releases: Project) -> None:
    assert commits_of(releases) is None
    announce_release(releases.pk, "3.0.0", NOW, {"commit": "c3", "range_link": RANGE})
    assert commits_of(releases) == (None, "c3", None)
    announce_release(releases.pk, "2.0.0", NOW, {"commit": "c2"})
    assert commits_of(releases) == ("c2", "c3", "https://code.example/shop/compare/c2...c3")


def test_the_commit_before_is_taken_only_from_a_release_that_follows(releases: Project) -> None:
    announce_release(releases.pk, "3.0.0", NOW, {"commit": "c3", "base_commit": "c2"})
    assert commits_of(releases) == ("c2", "c3", None)
    assert commits_of(releases, base="1.0.0") == (None, "c3", None)  # 2.0.0 came between


def test_a_verdict_and_its_pages_name_the_commits(
    client: Client, member: Client, releases: Project, build: dict[str, str]
) -> None:
    address = API + "verdict?release=3.0.0"
    before = member.get(address)
    member.get("/projects/shop/")  # sets the cookie without which a page has no ETag
    page_before = member.get("/projects/shop/")
    assert before.json()["commits"] is None
    announce(client, {**WHOLE, "release": "3.0.0", "commit": "c3", "base_commit": "c2"}, build)
    after = member.get(address, headers={"If-None-Match": before["ETag"]})
    assert after.status_code == 200
    verdict = after.json()
    assert "".join(part["text"] for part in verdict["sentence_parts"]) == verdict["sentence"]
    assert {"text": "3.0.0", "role": "name"} in verdict["sentence_parts"]
    assert (verdict["state"], verdict["is_early"], verdict["is_confirmed"], verdict["least_views"]) == (
        "slower",
        False,
        True,
        20,
    )
    assert after.json()["commits"] == {
        "from": "c2",
        "to": "c3",
        "link": "https://code.example/shop/compare/c2...c3",
        "release_link": "https://code.example/shop/pull/7",
        "author": "Anna",
        "released_at": "2026-11-17T07:30:00Z",
    }
    assert member.get("/projects/shop/", headers={"If-None-Match": page_before["ETag"]}).status_code == 200
    sides = "base_release=2.0.0&head_release=3.0.0"
    for page in (
        "/projects/shop/",
        f"/projects/shop/compare/?{sides}&plain=1",
        f"/projects/shop/compare/table/?{sides}",
    ):
        text = text_of(member, page)
        assert "Commits after c2 up to c3 by Anna , 2026-11-17 07:30 UTC . Show commits Show release" in text, text
        assert 'href="https://code.example/shop/compare/c2...c3"' in html_of(member, page)


def test_what_a_build_says_is_only_text(
    client: Client, member: Client, releases: Project, build: dict[str, str]
) -> None:
    author = HOSTILE.replace("\x07", "")
    announce(client, {"release": "3.0.0", "commit": "c3", "author": "<script>alert(1)</script>\"'&"}, build)
    assert announce(client, {"release": "3.0.0", "author": author}, build).status_code == 400  # U+202E turns text
    page = member.get("/projects/shop/").content.decode()
    assert "<script>alert" not in page
    assert "by <bdi>&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_guests_see_no_commits(client: Client, releases: Project, people: People, build: dict[str, str]) -> None:
    announce(client, {**WHOLE, "release": "3.0.0", "commit": "c3", "base_commit": "c2"}, build)
    link, path = share(releases, people.member)
    guest = open_as_guest(path)
    for page in ("/projects/shop/", "/projects/shop/compare/?base_release=2.0.0&head_release=3.0.0&plain=1"):
        shown = text_of(guest, below(link, page))
        assert "3.0.0 made /cart slower" in shown
        assert "Commits after" not in shown
        assert "Anna" not in shown
