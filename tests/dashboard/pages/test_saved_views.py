"""Saved views: who saves, sees, changes and deletes them, and which addresses they may have."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from projects.members import remove_member
from projects.models import Membership, Project, SavedView
from tests.dashboard.conftest import People
from tests.dashboard.pages.reading import HOSTILE, text_of

SAVED = "/projects/shop/saved/"
TREE = "/projects/shop/flame-graph/?release=1.0.0&page=/cart&find=draw"


def save(client: Client, name: str = "Cart", address: str = TREE, **more: str) -> int:
    return client.post(SAVED, {"name": name, "address": address, **more}).status_code


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def other(people: People, shop: Project) -> Client:
    """Another member of the shop."""
    user = User.objects.create_user("other")
    Membership.objects.create(project=shop, user=user)
    return client_of(user)


def test_a_member_saves_a_page_with_its_filters_and_comes_back_to_it(member: Client, shop: Project) -> None:
    answer = member.post(SAVED, {"name": " Cart tree ", "address": TREE})
    assert answer.status_code == 302
    assert answer["Location"] == TREE
    view = SavedView.objects.get()
    assert (view.name, view.path, view.query) == ("Cart tree", "flame-graph/", "release=1.0.0&page=/cart&find=draw")
    assert not view.is_shared
    page = member.get(SAVED).content.decode()
    assert 'href="/projects/shop/flame-graph/?release=1.0.0&amp;page=/cart&amp;find=draw"' in page
    assert "Cart tree" in member.get(SAVED + "list/").content.decode()
    assert "Cart tree" in member.get("/projects/shop/search/results/?find=cart+tr").content.decode()


def test_every_page_with_filters_has_the_form_with_its_address(member: Client) -> None:
    for tab in ("", "functions/", "flame-graph/", "compare/", "views/", "quality/"):
        page = member.get(f"/projects/shop/{tab}?device=desktop").content.decode()
        assert f'name="address" value="/projects/shop/{tab}?device=desktop"' in page, tab
        assert f'action="{SAVED}"' in page
    assert 'class="save-view"' not in member.get("/projects/shop/settings/").content.decode()


def test_the_shared_ones_are_seen_by_members_and_the_others_by_nobody_else(
    member: Client, other: Client, people: People
) -> None:
    save(member, "Mine")
    save(member, "Ours", is_shared="on")
    for address in (SAVED, SAVED + "list/", "/projects/shop/search/results/"):
        assert {"Mine", "Ours"} <= set(re.findall(r"Mine|Ours", member.get(address).content.decode())), address
        assert set(re.findall(r"Mine|Ours", other.get(address).content.decode())) == {"Ours"}, address
    assert client_of(people.stranger).get(SAVED).status_code == 404


def test_only_their_owner_changes_private_views_and_admins_the_shared_ones(
    member: Client, other: Client, people: People
) -> None:
    save(member, "Mine")
    save(member, "Ours", is_shared="on")
    mine, ours = SavedView.objects.order_by("pk")
    owner, stranger = client_of(people.owner), client_of(people.stranger)
    for client, view in ((other, mine), (other, ours), (owner, mine), (stranger, ours)):
        assert client.post(f"{SAVED}{view.pk}/", {"name": "x"}).status_code == 404
        assert client.post(f"{SAVED}{view.pk}/", {"delete": "1"}).status_code == 404
    assert stranger.post(f"/projects/elsewhere/saved/{ours.pk}/", {"delete": "1"}).status_code == 404
    assert owner.post(f"{SAVED}{ours.pk}/", {"name": "Everybody’s", "is_shared": "on"}).status_code == 302
    assert member.post(f"{SAVED}{mine.pk}/", {"delete": "1"}).status_code == 302
    assert [view.name for view in SavedView.objects.all()] == ["Everybody’s"]
    assert "View changed." in text_of(owner, SAVED)


def test_a_view_cannot_lose_its_name(member: Client) -> None:
    save(member)
    view = SavedView.objects.get()
    member.post(f"{SAVED}{view.pk}/", {"name": "  "})
    assert "This field is required." in text_of(member, SAVED)
    assert SavedView.objects.get().name == "Cart"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "flame-graph/",
        "https://evil.example/projects/shop/flame-graph/",
        "//evil.example/projects/shop/flame-graph/",
        "\\\\evil.example/projects/shop/flame-graph/",
        "javascript:alert(1)",
        "http://[",
        "/projects/elsewhere/flame-graph/",
        "/projects/shop/../elsewhere/flame-graph/",
        "/projects/shop/settings/members/",
        "/projects/shop/saved/",
        "/projects/shop/search/?find=x",
        "/projects/shop/functions/table/",
        "/logout/",
        "/projects/shop/views/\0/",
        "/projects/shop/flame-graph/?release=" + "x" * 4_000,
        "/projects/shop/flame-graph/?" + "&".join(f"release={n}" for n in range(501)),
    ],
)
def test_only_pages_of_the_project_can_be_saved(member: Client, people: People, address: str) -> None:
    assert save(member, address=address) == 400
    assert not SavedView.objects.exists()


def test_names_are_bounded_and_shown_as_text(member: Client) -> None:
    assert save(member, "x" * 81) == 400
    assert save(member, "") == 400
    assert save(member, HOSTILE.replace("\x07", "")) == 302
    for address in (SAVED, SAVED + "list/", "/projects/shop/search/results/"):
        page = member.get(address).content.decode()
        assert "<script>alert" not in page
        assert "⟨U+202E⟩" in page


def test_the_number_of_saved_views_of_a_user_is_limited(member: Client, other: Client, settings: Settings) -> None:
    settings.SAVED_VIEWS_MAX = 2
    assert [save(member, f"View {n}") for n in range(3)] == [302, 302, 400]
    assert save(other) == 302  # each for themselves
    answer = member.post(SAVED, {"name": "More", "address": TREE}).content.decode()
    assert "You have 2 saved views in this project. Delete one first." in answer


def test_a_view_ends_with_its_person_and_its_project(member: Client, other: Client, shop: Project) -> None:
    save(member)
    save(other)
    User.objects.get(username="member").delete()
    assert SavedView.objects.count() == 1
    Project.objects.filter(pk=shop.pk).delete()
    assert not SavedView.objects.exists()


def test_what_a_member_saved_for_themselves_ends_with_the_membership(member: Client, people: People) -> None:
    save(member, "Mine")
    save(member, "Ours", is_shared="on")
    remove_member(Membership.objects.get(user=people.member, project__slug="shop"))
    assert [view.name for view in SavedView.objects.all()] == ["Ours"]


def test_posts_need_the_forms_token_and_a_login(people: People, shop: Project) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(people.member)
    assert save(careful) == 403
    assert Client().post(SAVED).headers["Location"].startswith("/login/?next=")
    assert not SavedView.objects.exists()
