"""What guests read: every address is tried, and only those that are listed for guests answer."""

from typing import cast

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.test import Client
from django.urls import get_resolver, reverse

from dashboard import urls
from dashboard.api import urls as api_urls
from dashboard.web.guests.allowed import NEVER
from profcore.trace.dimensions import DIMENSIONS
from projects.models import Project, SharedLink
from projects.tokens import create_token
from tests.dashboard.conftest import VIEW_ID, People
from tests.dashboard.web.addresses import API, TRACE, list_names
from tests.dashboard.web.guests.guests import below, open_as_guest, share

SHOP = "/projects/shop/"
READ = [
    SHOP,
    SHOP + "?release=1.0.0&lines=none",
    SHOP + "functions/?page=/cart",
    SHOP + "functions/table/?group_by=file",
    SHOP + "functions/?q=draw&sort=total_ms&plain=1",
    SHOP + "flame-graph/",
    SHOP + "flame-graph/?plain=1",
    SHOP + "flame-graph/?base_release=1.0.0&head_release=2.0.0",
    SHOP + "quality/",
    SHOP + "quality/sampled/",
    SHOP + "changes/?base_release=1.0.0&head_release=2.0.0",
    SHOP + "change-parts/?base_release=1.0.0&head_release=2.0.0",
    SHOP + "functions/1/",
    SHOP + "functions/1/?plain=1",
    *(SHOP + f"functions/1/parts/{part}/" for part in ("cost", "trend", "pages", "calls", "devices", "days")),
    SHOP + "compare/",
    SHOP + "compare/?plain=1",
    SHOP + "compare/table/?base_release=1.0.0&head_release=2.0.0",
    SHOP + "compare/csv/?base_release=1.0.0&head_release=2.0.0",
    API + "trend",
    API + "flamegraph",
    API + "compare?base_release=1.0.0&head_release=2.0.0",
    API + "profile?format=firefox&compress=gzip",
    API + "profile?format=csv&release=1.0.0",
]
TIMELINE_ADDRESS = API + f"views/{VIEW_ID}/timeline"
RAW_ADDRESS = API + f"traces/{TRACE}/raw"
SETTINGS = SHOP + "settings/"
# Values for the parts of addresses, by the name of their converter.
VALUES = {"SlugConverter": "abc", "StringConverter": "1", "IntConverter": 1, "UUIDConverter": TRACE}


READABLE = list_names(lambda traits: traits.for_guests != "no")


def list_closed() -> list[str]:
    """Returns an address of each pattern of the dashboard that guests may not read, about their own project."""
    addresses = []
    for pattern in urls.urlpatterns:
        if pattern.name and pattern.name not in READABLE:
            values = {name: VALUES[type(converter).__name__] for name, converter in pattern.pattern.converters.items()}
            addresses.append(reverse(pattern.name, kwargs=values | ({"slug": "shop"} if "slug" in values else {})))
    return addresses


NOT_READ = [
    *list_closed(),
    SHOP + "functions/1/parts/views/",
    f"{SHOP}views/{VIEW_ID}/",
    f"{SHOP}views/{VIEW_ID}/functions/",
    TIMELINE_ADDRESS,
    RAW_ADDRESS,
    f"/shared/ffs_000000000000_{'x' * 43}/",
    "/api/nothing",
    "/metrics",
    "/readyz",
    "/healthz",
    "/snippet.js",
    "/snippet/KEY-shop.js",
    "/demo/",
    "/ingest/v1/traces?key=KEY-shop",
    "/nowhere/",
    "/static/dashboard/mark.svg",
]
# Of these, the filters are for single page views, raw traces or texts of sources.
FILTERED = [
    f"{SHOP}functions/?view={VIEW_ID}",
    f"{SHOP}functions/table/?trace={TRACE}",
    SHOP + "functions/?tag=user:anna",
    SHOP + "flame-graph/?tag=cart:full%20user:anna",
    SHOP + f"functions/1/parts/cost/?view={VIEW_ID}",
    API + f"flamegraph?view={VIEW_ID}",
    API + "flamegraph?tag=user:anna",
    API + f"profile?format=firefox&view={VIEW_ID}",
    API + f"profile?format=firefox&trace={TRACE}",
    API + f"profile?format=raw&trace={TRACE}",
    API + "profile?format=firefox&format=raw",
    API + "profile?format=firefox&sources=content",
    API + "compare?base_release=1.0.0&head_release=2.0.0&stratify=tag:user",
]


@pytest.fixture
def opened(grown: Project, its_people: People) -> tuple[SharedLink, str]:
    """A link to the shop, and its path."""
    return share(grown, its_people.member, "functions/?page=/cart&tag=cart:full")


@pytest.fixture
def link(opened: tuple[SharedLink, str]) -> SharedLink:
    return opened[0]


@pytest.fixture
def guest(opened: tuple[SharedLink, str]) -> Client:
    return open_as_guest(opened[1])


def test_opening_a_link_leads_to_its_page_with_its_filters(opened: tuple[SharedLink, str]) -> None:
    link, path = opened
    client = Client()
    answer = client.get(path)
    assert (answer.status_code, answer["Location"]) == (302, below(link, SHOP + "functions/?page=/cart&tag=cart:full"))
    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["Cache-Control"] == "private, no-store"
    cookie = client.cookies["fieldflame_guest"]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (f"/shared/{link.prefix}/", True, "Lax")
    assert "sessionid" not in client.cookies
    page = client.get(answer["Location"])
    assert page.status_code == 200
    shown = page.content.decode()
    assert "Shared by <bdi>member</bdi>, read-only, until" in shown
    assert "cart:full" in shown


def test_a_guest_reads_the_pages_of_aggregates(guest: Client, link: SharedLink) -> None:
    stranger = Client()
    faults = []
    for address in READ:
        answer = guest.get(below(link, address))
        elsewhere = guest.get(below(link, address.replace("shop", "elsewhere")))
        nowhere = guest.get(below(link, address.replace("shop", "no-such-project")))
        checks = {
            "status": answer.status_code == 200,
            "Cache-Control": answer.get("Cache-Control") == "private, no-store",
            "Referrer-Policy": answer.get("Referrer-Policy") == "no-referrer",
            "X-Robots-Tag": "noindex" in answer.get("X-Robots-Tag", ""),
            "Vary": "Cookie" in answer.get("Vary", ""),
            "no cookies": not answer.cookies,
            "not without the cookie": stranger.get(below(link, address)).status_code == 404,
            "not of other projects": elsewhere.status_code == nowhere.status_code == 404,
            "other projects are not told": elsewhere.content == nowhere.content,
        }
        faults += [(address, fact) for fact, holds in checks.items() if not holds]
    assert faults == []


def test_a_guest_reads_nothing_else(guest: Client, link: SharedLink) -> None:
    assert len(NOT_READ) > 75
    answers = [
        (address, headers, guest.get(below(link, address), headers=headers).status_code)
        for address in NOT_READ
        for headers in ({}, {"HX-Request": "true"})
    ]
    assert [answer for answer in answers if answer[-1] != 404] == []


def test_a_guest_uses_no_filter_for_single_page_views(guest: Client, link: SharedLink) -> None:
    answers = [(address, guest.get(below(link, address)).status_code) for address in FILTERED]
    assert [answer for answer in answers if answer[-1] != 404] == []


def test_a_guest_keeps_the_tags_of_the_link(guest: Client, link: SharedLink) -> None:
    assert guest.get(below(link, SHOP + "flame-graph/?tag=cart:full")).status_code == 200


def test_every_address_is_tried_here() -> None:
    def names_of(addresses: list[str]) -> set[str | None]:
        return {get_resolver().resolve(address.partition("?")[0]).url_name for address in addresses}

    assert names_of(READ) == READABLE
    assert len(list_closed()) > 60
    assert names_of(list_closed()) == {pattern.name for pattern in urls.urlpatterns} - READABLE - {None}


def test_a_guest_writes_nothing(link: SharedLink, guest: Client) -> None:
    answers = [
        (method, address, getattr(guest, method)(below(link, address)).status_code)
        for address in [*READ, SHOP + "share/", SETTINGS, API + "links", API + "jobs", API + "settings", "/logout/"]
        for method in ("post", "put", "patch", "delete", "options")
    ]
    assert [answer for answer in answers if answer[-1] != 405] == []


def test_a_guest_is_a_stranger_everywhere_else(guest: Client, link: SharedLink) -> None:
    for address in [*READ, "/projects/", "/account/"]:
        # Even if the cookie came along, it counts for nothing.
        headers = {"Cookie": f"fieldflame_guest={guest.cookies['fieldflame_guest'].value}"}
        assert guest.get(address, headers=headers).status_code in (302, 401), address


def test_other_credentials_count_for_nothing_below_a_link(
    guest: Client, link: SharedLink, opened: tuple[SharedLink, str]
) -> None:
    project = Project.objects.get(slug="shop")
    _, clear = create_token(project=project, scopes=["raw"])
    bearer = {"Authorization": f"Bearer {clear}"}
    assert guest.get(below(link, RAW_ADDRESS), headers=bearer).status_code == 404
    assert Client().get(below(link, API + "trend"), headers=bearer).status_code == 404
    owner = Client()
    owner.force_login(User.objects.get(username="owner"))
    session = owner.cookies["sessionid"].value
    assert owner.get(below(link, SHOP)).status_code == 404  # without the link
    assert owner.get(opened[1]).status_code == 302
    shown = owner.get(below(link, SHOP))
    assert "read-only" in shown.content.decode()
    assert "Log out" not in shown.content.decode()
    assert owner.get(below(link, SETTINGS)).status_code == 404
    assert owner.cookies["sessionid"].value == session
    assert owner.get(SETTINGS).status_code == 200  # their session is as it was
    assert "read-only" not in owner.get(SHOP).content.decode()


def test_a_cookie_opens_its_own_link_only(guest: Client, link: SharedLink) -> None:
    other, _ = share(Project.objects.get(slug="elsewhere"), User.objects.get(username="stranger"))
    guest.cookies["fieldflame_guest"]["path"] = "/"
    assert guest.get(below(other, SHOP)).status_code == 404
    assert guest.get(below(other, "/projects/elsewhere/")).status_code == 404


def test_messages_and_csrf_cookies_of_a_login_stay(opened: tuple[SharedLink, str], its_people: People) -> None:
    link, path = opened
    owner = Client()
    owner.force_login(its_people.owner)
    owner.get(SHOP)
    csrf = owner.cookies["csrftoken"].value
    owner.get(path)
    assert owner.get(below(link, SHOP)).cookies.get("csrftoken") is None
    assert owner.cookies["csrftoken"].value == csrf


def test_every_parameter_of_the_open_endpoints_was_looked_at() -> None:
    """A new parameter of an endpoint that guests read must be put here, or into `NEVER`."""
    slices = {"release", "page", "from", "to", *(dimension.name for dimension in DIMENSIONS), "func_over", "tag"}
    sides = {f"{side}_{field}" for side in ("base", "head") for field in slices - {"func_over", "tag"}}
    others = {"measure", "by", "limit", "min_share", "max_nodes", "format", "compress", "segment", "axis", "engine"}
    known: set[str] = set()
    for pattern in api_urls.ENDPOINTS:
        if pattern.name in READABLE:
            known |= {param.name for param in pattern.callback.view_class.known_params}  # type: ignore[attr-defined]
    assert known - set(NEVER) == slices | sides | others | {"group_by", "only", "display"}


def test_crooked_paths_lead_nowhere(guest: Client, link: SharedLink) -> None:
    paths = [
        "//projects/shop/",
        "/projects//shop/",
        "/projects/shop/../shop/settings/",
        "/projects/shop/%2e%2e/shop/settings/",
        "/projects/shop/functions/../settings/",
        "/projects/shop/settings/%00",
        "/projects/shop\\settings/",
        "/projects/shop/;/settings/",
        "/PROJECTS/shop/",
        "/projects/shop",
        "/projects/SHOP/",
        "/%2Fprojects/shop/",
        "/projects/shop/%0a",
        f"/shared/{link.prefix}/projects/shop/",
        "/",
    ]
    whole = [f"/shared/{link.prefix}{path}" for path in paths] + [f"/shared/{link.prefix.upper()}X/projects/shop/"]
    answers = [(path, guest.get(path).status_code) for path in whole]
    assert [answer for answer in answers if answer[-1] != 404] == []


def read_body(response: HttpResponseBase) -> bytes:
    """Returns the body of an answer, which may stream."""
    if isinstance(response, StreamingHttpResponse):
        return b"".join(response)
    return cast("HttpResponse", response).content


def test_what_guests_read_leaves_no_trace_on_pages_of_members(guest: Client, link: SharedLink) -> None:
    """What processes cache of a project has no addresses: those of guests are others."""
    owner = Client()
    owner.force_login(User.objects.get(username="owner"))
    for address in READ:
        theirs = guest.get(below(link, address))
        owner_page = owner.get(address)
        for response, is_guests in ((theirs, True), (owner_page, False)):
            body = read_body(response)
            if response.get("Content-Encoding") or response["Content-Type"] == "application/gzip":
                continue
            assert (f"/shared/{link.prefix}".encode() in body) <= is_guests, address
            if is_guests:
                assert b'"/projects/' not in body, address
                assert b'"/api/' not in body, address
        assert theirs.get("HX-Replace-Url", "/shared/").startswith("/shared/")
