"""A guest's pages: every link on them works, and nothing is offered that guests may not do."""

import re
from collections.abc import Iterable
from html import unescape
from urllib.parse import parse_qsl, urljoin

import pytest
from django.test import Client

from projects.models import Membership, Project
from tests.builders import make_project
from tests.dashboard.conftest import People
from tests.dashboard.web.guests.guests import below, open_as_guest, share

SHOP = "/projects/shop/"
PAGES = [
    SHOP,
    SHOP + "functions/",
    SHOP + "functions/?group_by=file",
    SHOP + "functions/?page=/cart&release=1.0.0",
    SHOP + "flame-graph/",
    SHOP + "flame-graph/?plain=1",
    SHOP + "flame-graph/?base_release=1.0.0&head_release=2.0.0",
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
FILTERS = {"browser", "category", "device", "from", "navigation"}
NOT_OFFERED = (
    "csrfmiddlewaretoken",
    'method="post"',
    "share.js",
    'id="copy-link"',
    'id="open-comparison"',
    "/settings/",
    "Log out",
    "Import profiles",
    "data-share",
    "KEY-shop",
    "same-func",
    'name="tag"',
    "doctor",
)


@pytest.mark.slow(12)
def test_every_link_on_a_guests_page_works(grown: Project, its_people: People) -> None:
    link, path = share(grown, its_people.member)
    guest = open_as_guest(path)
    prefix = f"/shared/{link.prefix}"
    pages: dict[str, str] = {}  # of each address, a page that has it
    bare: set[str] = set()
    faults: list[str] = []
    for page in PAGES:
        answer = guest.get(below(link, page))
        if answer.status_code != 200:
            faults.append(f"{page}: {answer.status_code}")
        addresses = {
            urljoin(below(link, page), unescape(address)) for address in ADDRESS.findall(answer.content.decode())
        }
        follow = {address for address in addresses if is_followed(address)}
        if not follow:
            bare.add(page)
        pages |= dict.fromkeys(follow, page)
    for address, page in pages.items():
        if not address.startswith(f"{prefix}/projects/shop/") and "/api/v1/projects/shop/" not in address:
            faults.append(f"{page} leads out to {address}")
    for address in choose_different(pages):
        if (status := guest.get(address).status_code) != 200:
            faults.append(f"{pages[address]} leads to {address}: {status}")
    assert faults == []
    assert bare <= {page for page in PAGES if page.startswith(SHOP + "change")}


def choose_different(addresses: Iterable[str]) -> list[str]:
    """Returns fewer addresses, which together have each path with each set of parameters, and each of their values.

    The filters of a slice are read alike everywhere: each of their values is on one path.
    """
    chosen: list[str] = []
    seen: set[tuple[str, ...]] = set()
    for address in sorted(addresses, key=lambda text: (-len(text), text)):
        path, _, query = address.partition("?")
        pairs = parse_qsl(query, keep_blank_values=True)
        new: set[tuple[str, ...]] = {("" if name in FILTERS else path, name, value) for name, value in pairs}
        new.add((path, *sorted({name for name, _ in pairs})))
        if not new <= seen:
            chosen.append(address)
            seen |= new
    return chosen


def is_followed(address: str) -> bool:
    """Whether an address is one that a guest's reading leads to."""
    return not (
        address.startswith(("/static/", "/login/"))
        or BEGINNINGS.search(address)
        or "jobs" in address
        or "/api/v1/projects/shop/links" in address
    )


def test_a_guests_page_offers_nothing_that_guests_may_not_do(grown: Project, its_people: People) -> None:
    link, path = share(grown, its_people.member)
    guest = open_as_guest(path)
    texts = {page: guest.get(below(link, page)).content.decode() for page in PAGES}
    assert [(page, word) for page, text in texts.items() for word in NOT_OFFERED if word in text] == []


def test_a_guest_sees_no_key_of_an_empty_project(its_people: People) -> None:
    empty = make_project("empty")
    Membership.objects.create(project=empty, user=its_people.stranger)
    link, path = share(empty, its_people.stranger)
    text = open_as_guest(path).get(below(link, "/projects/empty/")).content.decode()
    assert "No page views yet" in text
    assert "KEY-empty" not in text


def test_what_is_not_there_leads_a_guest_back(grown: Project, its_people: People) -> None:
    link, path = share(grown, its_people.member)
    missing = open_as_guest(path).get(below(link, SHOP + "functions/999/"))
    assert missing.status_code == 404
    assert f'href="{below(link, SHOP)}">Overview' in missing.content.decode()
    closed = open_as_guest(path).get(below(link, SHOP + "settings/"))
    assert 'href="/projects/"' in closed.content.decode()


def test_a_guest_can_log_in_and_reads_the_same_page(grown: Project, its_people: People) -> None:
    link, path = share(grown, its_people.member)
    text = open_as_guest(path).get(below(link, SHOP + "functions/?page=/cart")).content.decode()
    assert 'href="/login/?next=%2Fprojects%2Fshop%2Ffunctions%2F%3Fpage%3D%2Fcart"' in text
    client = Client()
    answer = client.post(
        "/login/?next=/projects/shop/functions/?page=/cart", {"username": "member", "password": "correct horse"}
    )
    assert answer["Location"] == "/projects/shop/functions/?page=/cart"


def test_an_export_names_the_address_that_the_guest_reads(grown: Project, its_people: People) -> None:
    link, path = share(grown, its_people.member)
    guest = open_as_guest(path)
    answer = guest.get(below(link, "/api/v1/projects/shop/profile?format=firefox"))
    body = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]  # it streams
    assert f"http://testserver/shared/{link.prefix}/projects/shop/" in body
    assert path.split("/")[2] not in body
