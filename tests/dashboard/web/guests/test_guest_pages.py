"""A guest's pages: every link on them works, and nothing is offered that guests may not do."""

import re
from html import unescape
from urllib.parse import urljoin

import pytest
from django.test import Client

from ingest.models import Project
from tests.builders import make_call_tree, make_cell, make_func, make_hotspot
from tests.dashboard.conftest import People
from tests.dashboard.web.guests.guests import below, open_as_guest, share

SHOP = "/projects/shop/"
PAGES = [
    SHOP,
    SHOP + "page/",
    SHOP + "page/?group_by=file",
    SHOP + "page/?page=/cart&release=1.0.0",
    SHOP + "tree/",
    SHOP + "tree/?plain=1",
    SHOP + "tree/?base_release=1.0.0&head_release=2.0.0",
    SHOP + "compare/",
    SHOP + "compare/?plain=1",
    SHOP + "compare/?base_release=1.0.0&head_release=2.0.0&noise=1&plain=1",
    SHOP + "quality/?plain=1",
    SHOP + "functions/1/",
    SHOP + "functions/1/?plain=1",
    SHOP + "changes/?base_release=1.0.0&head_release=2.0.0",
    SHOP + "change-parts/?base_release=1.0.0&head_release=2.0.0",
]
ADDRESS = re.compile(r'\s(?:href|hx-get|action|data-[a-z-]*url)="([^"#]+)"')
# Addresses that scripts complete.
BEGINNINGS = re.compile(r"/functions/$")


@pytest.fixture
def grown(shop: Project) -> Project:
    """The shop with a second release, and display rules."""
    cell = make_cell(shop, release="2.0.0", js_us=12_000)
    func = make_func(shop, "later")
    make_hotspot(cell, func, self_us=12_000, total_us=12_000)
    make_call_tree(cell, [(-1, func, 12_000)])
    shop.display_rules = [{"match": {"category": "vendor"}, "action": "group", "label": "Vendor"}]
    return shop


@pytest.mark.parametrize("page", PAGES)
def test_every_link_on_a_guests_page_works(grown: Project, people: People, page: str) -> None:
    link, path = share(grown, people.member)
    guest = open_as_guest(path)
    answer = guest.get(below(link, page))
    assert answer.status_code == 200
    text = answer.content.decode()
    found = {urljoin(below(link, page), unescape(address)) for address in ADDRESS.findall(text)}
    followed = 0
    for address in found:
        if address.startswith(("/static/", "/login/")) or BEGINNINGS.search(address) or "jobs" in address:
            continue
        assert address.startswith(f"/shared/{link.prefix}/projects/shop/") or "/api/v1/projects/shop/" in address
        if "/api/v1/projects/shop/links" in address:
            continue
        followed += 1
        assert guest.get(address).status_code == 200, (page, address)
    assert followed or page.startswith(SHOP + "change")


@pytest.mark.parametrize("page", PAGES)
def test_a_guests_page_offers_nothing_that_guests_may_not_do(grown: Project, people: People, page: str) -> None:
    link, path = share(grown, people.member)
    text = open_as_guest(path).get(below(link, page)).content.decode()
    for word in (
        "csrfmiddlewaretoken",
        'method="post"',
        "share.js",
        'id="copy-link"',
        'id="open-comparison"',
        "/settings/",
    ):
        assert word not in text, word
    for word in ("Log out", "Import profiles", "data-share", "KEY-shop", "same-func", 'name="tag"', "doctor"):
        assert word not in text, word


def test_a_guest_sees_no_key_of_an_empty_project(people: People) -> None:
    elsewhere = Project.objects.get(slug="elsewhere")
    link, path = share(elsewhere, people.stranger)
    text = open_as_guest(path).get(below(link, "/projects/elsewhere/")).content.decode()
    assert "No page views yet" in text
    assert "KEY-elsewhere" not in text


def test_what_is_not_there_leads_a_guest_back(grown: Project, people: People) -> None:
    link, path = share(grown, people.member)
    missing = open_as_guest(path).get(below(link, SHOP + "functions/999/"))
    assert missing.status_code == 404
    assert f'href="{below(link, SHOP)}">Overview' in missing.content.decode()
    closed = open_as_guest(path).get(below(link, SHOP + "settings/"))
    assert 'href="/projects/"' in closed.content.decode()


def test_a_guest_can_log_in_and_reads_the_same_page(grown: Project, people: People) -> None:
    link, path = share(grown, people.member)
    text = open_as_guest(path).get(below(link, SHOP + "page/?page=/cart")).content.decode()
    assert 'href="/login/?next=%2Fprojects%2Fshop%2Fpage%2F%3Fpage%3D%2Fcart"' in text
    client = Client()
    answer = client.post(
        "/login/?next=/projects/shop/page/?page=/cart", {"username": "member", "password": "correct horse"}
    )
    assert answer["Location"] == "/projects/shop/page/?page=/cart"


def test_an_export_names_the_address_that_the_guest_reads(grown: Project, people: People) -> None:
    link, path = share(grown, people.member)
    guest = open_as_guest(path)
    answer = guest.get(below(link, "/api/v1/projects/shop/profile?format=firefox"))
    body = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]  # it streams
    assert f"http://testserver/shared/{link.prefix}/projects/shop/" in body
    assert path.split("/")[2] not in body
