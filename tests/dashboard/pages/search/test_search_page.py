"""The search of the dashboard: what it finds, for whom, and where its links lead."""

import html
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import Membership, Project
from tests.builders import make_cell, make_func, make_group, make_project
from tests.dashboard.conftest import People
from tests.dashboard.pages.reading import HOSTILE, text_of

RESULTS = "/projects/shop/search/results/"
EVERYWHERE = "/search/results/"


def links_of(client: Client, address: str) -> dict[str, str]:
    """Returns the address of each result by its words."""
    response = client.get(address)
    assert response.status_code == 200
    options = re.findall(r'<a role="option"[^>]* href="([^"]*)"[^>]*>(.*?)</a>', response.content.decode(), re.S)
    texts = [re.sub(r"<span.*", "", inner, flags=re.S) for _, inner in options]  # without keys
    labels = [" ".join(re.sub(r"<[^>]*>", " ", text).split()) for text in texts]
    return {html.unescape(word): html.unescape(link) for word, (link, _) in zip(labels, options, strict=True)}


@pytest.fixture
def both(people: People, shop: Project) -> Project:
    """Another project, of which the stranger is an admin and the owner a member."""
    elsewhere = Project.objects.get(slug="elsewhere")
    Membership.objects.create(project=elsewhere, user=people.owner)
    make_func(elsewhere, "drawElsewhere")
    make_group(elsewhere, "9.0.0-elsewhere", "/draw-elsewhere")
    return elsewhere


def test_without_a_text_it_says_where_to_go(member: Client) -> None:
    links = links_of(member, RESULTS + "?release=1.0.0")
    assert links["Flame graph"] == "/projects/shop/flame-graph/?release=1.0.0"
    assert links["Settings"] == "/projects/shop/settings/"
    assert list(links)[:3] == ["Overview", "Functions", "Flame graph"]
    assert not any("draw" in word for word in links)


def test_a_text_finds_functions_pages_releases_settings_and_ways(member: Client, shop: Project) -> None:
    make_cell(shop, release="2.0.0-draft", page="/drawings")
    links = links_of(member, RESULTS + "?find=dra&release=1.0.0&device=desktop")
    assert links["draw app.js:1:20"] == "/projects/shop/functions/2/?release=1.0.0&device=desktop"
    assert links["/drawings"] == "/projects/shop/functions/?release=1.0.0&page=/drawings&device=desktop"
    assert links["2.0.0-draft"] == "/projects/shop/?release=2.0.0-draft&device=desktop"
    more = links["Search the functions table for “dra”"]
    assert more == "/projects/shop/functions/?release=1.0.0&device=desktop&q=dra"
    assert links_of(member, RESULTS + "?find=page+rou")["Settings: Page routes"] == "/projects/shop/settings/routes/"
    assert "Compare" in links_of(member, RESULTS + "?find=comp")


def test_one_letter_searches_no_data(member: Client) -> None:
    assert not any("draw" in word for word in links_of(member, RESULTS + "?find=d"))


def test_somebody_finds_only_what_they_may_see(client: Client, people: People, both: Project) -> None:
    client.force_login(people.owner)  # sees both
    mine = links_of(client, EVERYWHERE + "?find=draw")
    assert mine["draw The shop · app.js:1:20"] == "/projects/shop/functions/2/"
    assert any(word.startswith("drawElsewhere elsewhere") for word in mine)
    assert "/draw-elsewhere elsewhere" in mine
    assert "elsewhere" in links_of(client, RESULTS + "?find=else")
    assert not any("Elsewhere" in word for word in links_of(client, RESULTS + "?find=draw"))
    client.force_login(people.member)  # sees the shop
    for address in (EVERYWHERE, RESULTS):
        for text in ("draw", "else", "9.0"):
            assert not any(
                "lsewhere" in word and "Search the" not in word for word in links_of(client, f"{address}?find={text}")
            )
    client.force_login(people.stranger)  # sees the other one
    theirs = links_of(client, EVERYWHERE + "?find=draw")
    assert "draw The shop · app.js:1:20" not in theirs
    client.force_login(User.objects.create_user("nobody"))  # sees none
    assert not any("draw" in word for word in links_of(client, EVERYWHERE + "?find=draw"))


def test_a_project_without_members_is_found_by_superusers(client: Client, both: Project) -> None:
    fresh = make_project("fresh")
    make_group(fresh, "1.0.0", "/")
    make_func(fresh, "drawFresh")
    client.force_login(User.objects.create_superuser("root"))
    links = links_of(client, EVERYWHERE + "?find=draw")
    assert [word for word in links if word.startswith("draw")] == ["drawFresh fresh · app.js:1:10"]


def test_hostile_names_are_text(member: Client, shop: Project) -> None:
    make_func(shop, "draw" + HOSTILE)
    page = member.get(RESULTS + "?find=draw%3Cscript").content.decode()
    assert "<script>alert" not in page
    assert "⟨U+202E⟩" in page


@pytest.mark.parametrize("address", [RESULTS, "/projects/shop/search/", EVERYWHERE, "/search/"])
def test_a_bad_text_or_slice_is_no_failure(member: Client, address: str) -> None:
    for query in ("find=%00", "find=%25%5C_", "find=a%00b", "find=draw&from=never", "find=dra%F0%9F%98%80w"):
        assert member.get(f"{address}?{query}").status_code == 200, query
    assert "at most 200 characters" in member.get(f"{address}?find={'x' * 201}").content.decode()


def test_without_a_script_the_search_is_a_page(member: Client) -> None:
    overview = member.get("/projects/shop/?release=1.0.0").content.decode()
    assert 'href="/projects/shop/search/?release=1.0.0"' in overview
    assert 'href="/search/"' in member.get("/projects/").content.decode()
    page = member.get("/projects/shop/search/?find=draw&release=1.0.0").content.decode()
    assert '<input type="hidden" name="release" value="1.0.0">' in page
    assert 'href="/projects/shop/functions/2/?release=1.0.0"' in page
    assert "Open in Firefox Profiler" not in page  # only a script can
    assert "Nothing found for “ nowhere ”" in text_of(member, "/projects/shop/search/?find=nowhere")


def test_who_is_not_logged_in_has_no_palette(client: Client) -> None:
    assert 'id="palette"' not in client.get("/login/").content.decode()
