"""Sharing a page: one post makes a link to it; the settings list links, and end them."""

import re
from datetime import UTC, datetime

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from projects.models import Project, SharedLink
from tests.dashboard.conftest import VIEW_ID, People
from tests.dashboard.pages.settings.conftest import SETTINGS, follow, read, text_in
from tests.dashboard.web.guests.guests import below, share

SHARE = "/projects/shop/share/"
PAGE = "/projects/shop/functions/?page=/cart&release=1.0.0"
SCRIPT = {"HX-Request": "true"}


def read_url(text: str) -> str:
    """Returns the address of a link that an answer shows."""
    match = re.search(r"http://testserver(/shared/ffs_[^/]+/)", text)
    assert match, text
    return match.group(1)


@pytest.fixture(autouse=True)
def no_failures() -> None:
    cache.clear()


def test_one_post_shares_exactly_this_page(member: Client, shop: Project) -> None:
    answer = member.post(SHARE, {"page": f"http://testserver{PAGE}#functions"}, headers=SCRIPT)
    assert (answer.status_code, answer["Cache-Control"]) == (
        201,
        "max-age=0, no-cache, no-store, must-revalidate, private",
    )
    text = text_in(answer)  # type: ignore[arg-type]  # the client's own response
    assert "Anyone with this link can read the project The shop until" in text
    assert "(7 days), without raw traces, single page views or source code." in text
    link = SharedLink.objects.get()
    assert link.creator.get_username() == "member"
    opened = Client().get(read_url(answer.content.decode()))
    assert opened["Location"] == below(link, PAGE + "#functions")
    secret = read_url(answer.content.decode()).split("_", 2)[2].strip("/")
    assert secret not in str(SharedLink.objects.values())


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("", "not the address"),
        ("/nowhere/", "not the address"),
        ("http://[", "not the address"),
        ("/projects/shop/\x00", "not the address"),
        ("https://evil.example/projects/elsewhere/", "cannot be shared"),
        ("/projects/shop/settings/", "cannot be shared"),
        ("/projects/shop/views/", "cannot be shared"),
        (f"/projects/shop/views/{VIEW_ID}/", "cannot be shared"),
        ("/projects/shop/functions/1/parts/views/", "cannot be shared"),
        (f"/projects/shop/functions/?view={VIEW_ID}", "single page views"),
        ("/projects/%73hop/functions/", "not the address"),
        ("/projects/shop/functions/?q=" + "x" * 5_000, "more than 4000"),
    ],
)
def test_only_pages_of_aggregates_are_shared(member: Client, shop: Project, page: str, says: str) -> None:
    answer = member.post(SHARE, {"page": page}, headers=SCRIPT)
    assert answer.status_code == 400
    assert says in answer.content.decode()
    assert not SharedLink.objects.exists()


def test_an_address_of_another_host_opens_a_page_of_this_one(member: Client, shop: Project) -> None:
    answer = member.post(SHARE, {"page": f"https://evil.example{PAGE}"}, headers=SCRIPT)
    opened = Client().get(read_url(answer.content.decode()))
    assert opened["Location"] == below(SharedLink.objects.get(), PAGE)


def test_without_a_script_the_link_is_shown_in_the_settings_once(member: Client, shop: Project) -> None:
    answer = member.post(SHARE, {"page": PAGE})
    assert "Copy the link now" in answer.content.decode()
    assert Client().get(read_url(answer.content.decode())).status_code == 302
    assert "/shared/ffs_" not in member.get(SETTINGS + "shared/").content.decode()


def test_strangers_share_nothing(people: People, shop: Project) -> None:
    client, careful = Client(), Client(enforce_csrf_checks=True)
    assert client.post(SHARE, {"page": PAGE})["Location"].startswith("/login/")
    client.force_login(people.stranger)
    assert client.post(SHARE, {"page": PAGE}).status_code == 404
    careful.force_login(people.member)
    assert careful.post(SHARE, {"page": PAGE}).status_code == 403
    assert not SharedLink.objects.exists()


def test_a_link_gets_another_expiry_and_is_revoked(member: Client, people: People, shop: Project) -> None:
    link, path = share(shop, people.member)
    address = f"{SETTINGS}shared/{link.prefix}/"
    for days in (30, 1):
        answer = member.post(address, {"days": days}, headers=SCRIPT)
        assert f"({days} day" in text_in(answer)  # type: ignore[arg-type]  # the client's own response
        link.refresh_from_db()
        assert round((link.expires_at - link.created_at).total_seconds() / 86_400) == days
    for wrong in ("0", "31", "x", "-1", "99999"):
        assert member.post(address, {"days": wrong}, headers=SCRIPT).status_code == 400
    assert "is revoked" in member.post(address, {"revoke": "1"}, headers=SCRIPT).content.decode()
    assert Client().get(path).status_code == 410
    assert member.post(address, {"days": "7"}, headers=SCRIPT).status_code == 409  # it stays revoked


def test_members_see_and_end_their_own_links_and_admins_all(
    owner: Client, member: Client, people: People, shop: Project
) -> None:
    member_link, member_path = share(shop, people.member, "flame-graph/")
    others, others_path = share(shop, people.owner, "functions/")
    foreign, foreign_path = share(Project.objects.get(slug="elsewhere"), people.stranger)
    assert member_link.prefix in read(member, "shared/")
    assert others.prefix not in read(member, "shared/")
    shown = read(owner, "shared/")
    assert member_link.prefix in shown
    assert others.prefix in shown
    assert foreign.prefix not in shown
    for client, link in ((member, others), (owner, foreign)):
        assert client.post(f"{SETTINGS}shared/{link.prefix}/", {"revoke": "1"}).status_code == 404
    stranger = Client()
    stranger.force_login(people.stranger)
    assert stranger.post(f"{SETTINGS}shared/{member_link.prefix}/", {"revoke": "1"}).status_code == 404
    assert stranger.post(f"{SETTINGS}shared/revoke/").status_code == 404
    assert "1 link revoked" in follow(member, "shared/revoke/")
    assert [Client().get(path).status_code for path in (member_path, others_path, foreign_path)] == [410, 302, 302]
    share(shop, people.member)
    assert "2 active links, also those of other members" in read(owner, "shared/revoke/")
    assert "2 links revoked" in follow(owner, "shared/revoke/")
    assert [Client().get(path).status_code for path in (others_path, foreign_path)] == [410, 302]
    assert "3 ended links" in read(owner, "shared/")


def test_a_project_has_a_bounded_number_of_links(
    member: Client, people: People, shop: Project, settings: Settings
) -> None:
    settings.SHARED_LINKS_MAX = 2
    link, _ = share(shop, people.owner)
    share(shop, people.owner)
    answer = member.post(SHARE, {"page": PAGE}, headers=SCRIPT)
    assert (answer.status_code, "too many shared links" in answer.content.decode()) == (409, True)
    share(Project.objects.get(slug="elsewhere"), people.stranger)  # another project has its own number
    link.delete()
    assert member.post(SHARE, {"page": PAGE}, headers=SCRIPT).status_code == 201


def test_the_choices_are_within_the_servers_maximum(member: Client, shop: Project, settings: Settings) -> None:
    settings.SHARED_LINK_MAX_DAYS = 5
    text = text_in(member.post(SHARE, {"page": PAGE}, headers=SCRIPT))  # type: ignore[arg-type]  # as above
    assert "(5 days)" in text
    assert "1 day 5 days Revoke" in text


def test_the_newest_of_many_ended_links_are_listed(member: Client, people: People, shop: Project) -> None:
    now = datetime.now(UTC)
    links = [
        SharedLink(
            project=shop, creator=people.member, prefix=f"{n:012x}", digest="", page="", created_at=now, expires_at=now
        )
        for n in range(103)
    ]
    SharedLink.objects.bulk_create(links)
    text = read(member, "shared/")
    assert "The newest 100 ended links" in text
    assert (f"ffs_{102:012x}_" in text, f"ffs_{2:012x}_" in text) == (True, False)
