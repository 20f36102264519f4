"""The page of a trace: the client's own route, else one made of its URL; and what becomes of too many."""

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from ingest.models import Group
from ingest.storage.groups import OTHER
from profcore.caching import clear_caches
from profcore.trace.routes import MAX_ROUTE_CHARS
from projects.creation import create_project
from projects.key_cache import clear_keys
from projects.models import Project
from projects.releases import ReleaseError, announce_release
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestServer

SHOP = "https://shop.example"


def post_url(endpoint: IngestServer, url: str) -> list[str]:
    answer = endpoint.post(make_envelope("a", page=None, url=url))
    assert answer.status == 202, answer.json
    return endpoint.pages()


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("", "/"),
        ("/", "/"),
        ("/cart", "/cart"),
        ("/cart/", "/cart"),
        ("//cart", "/cart"),
        ("/product/81724", "/product/:id"),
        ("/product/blue-shirt-81724", "/product/:id"),
        ("/order/0e5f7a54-2f0d-4c0b-8f0e-3b1f2a9d7c11/edit", "/order/:id/edit"),
        ("/commit/9fceb02d0ae598e95dc970b74767f19372d61af8", "/commit/:id"),
        ("/news/2026-11-21/rain", "/news/:id/rain"),
        ("/user/ann@example.com", "/user/:id"),
        ("/user/ann%40example.com", "/user/:id"),
        ("/share/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/share/:id"),
        ("/deadbeef", "/deadbeef"),
        ("/about-us", "/about-us"),
        ("/v2/cart", "/v2/cart"),
        ("/cart;jsessionid=0A1B2C", "/cart"),
        ("/%E5%95%86", "/%E5%95%86"),
        ("/" + "x" * 129, "/:id"),
    ],
)
def test_what_differs_from_visit_to_visit_becomes_an_id(endpoint: IngestServer, path: str, page: str) -> None:
    assert post_url(endpoint, SHOP + path + "?token=1#part") == [page]


def test_the_clients_own_page_comes_before_the_url(endpoint: IngestServer) -> None:
    endpoint.post(make_envelope("a", page="/product/:slug", url=f"{SHOP}/product/81724"))
    assert endpoint.pages() == ["/product/:slug"]


@pytest.mark.parametrize(
    "url", ["about:blank", "data:text/html,SECRET", f"blob:{SHOP}/0e5f", "javascript:alert(1)", "http://[", "?q", "x:y"]
)
def test_a_url_without_a_path_is_the_root(endpoint: IngestServer, url: str) -> None:
    assert post_url(endpoint, url) == ["/"]


def test_a_projects_rules_come_first(endpoint: IngestServer) -> None:
    Project.objects.update(route_rules=["/shop/:category/sale", "/docs/*"])
    clear_keys()
    for number, path in enumerate(("/shop/hats/sale", "/shop/shoes/sale", "/docs/a/b/c", "/docs", "/shop/hats/7")):
        endpoint.post(make_envelope(str(number), page=None, url=SHOP + path))
    assert endpoint.pages() == ["/docs/*", "/shop/:category/sale", "/shop/hats/:id"]


@pytest.mark.parametrize("url", [SHOP + "/a" * 30_000, SHOP + "/" + "é" * 60_000, SHOP + "/a-b" * 16_000])
def test_a_long_url_is_cut_soon(endpoint: IngestServer, url: str) -> None:
    (page,) = post_url(endpoint, url)
    assert len(page) <= MAX_ROUTE_CHARS


def test_release_and_page_of_the_longest_kind_fit_their_index(endpoint: IngestServer) -> None:
    answer = endpoint.post(make_envelope("a", release="🛒" * 200, page="/" + "🛒" * 399))
    assert answer.status == 202
    assert len(endpoint.pages()[0]) == 400


def places(endpoint: IngestServer) -> list[tuple[str, str]]:
    """Returns release and page of each stored trace, sorted."""
    sql = """SELECT g.release, g.page FROM ingest_tracereceipt r JOIN ingest_group g ON (g.project_id, g.id) =
             (r.project_id, r.group_id) WHERE r.project_id = %(project)s ORDER BY 1, 2"""
    return endpoint.rows(sql)


def announce(endpoint: IngestServer, release: str) -> None:
    announce_release(endpoint.project_id, release, datetime.now(UTC))


def test_beyond_the_bound_new_pages_count_as_other_and_nothing_is_refused(
    endpoint: IngestServer, settings: Settings
) -> None:
    settings.INGEST_MAX_GROUPS = 2
    assert endpoint.post([make_envelope("a", page="/1"), make_envelope("b", page="/2")]).json["accepted"] == 2
    assert endpoint.post(make_envelope("c", page="/3")).status == 202
    answer = endpoint.post(
        [make_envelope("d", page="/1"), make_envelope("e", page="/4"), make_envelope("f", page="/5")]
    )
    assert (answer.status, answer.json["accepted"]) == (202, 3)
    assert places(endpoint) == [(OTHER, OTHER)] * 3 + [("1.0.0", "/1")] * 2 + [("1.0.0", "/2")]
    assert endpoint.refusals() == {}


def test_new_pages_are_taken_up_to_the_bound_within_one_body(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_GROUPS = 3
    assert endpoint.post([make_envelope(str(n), page=f"/{n}") for n in range(5)]).json["accepted"] == 5
    assert [page for _, page in places(endpoint)] == [OTHER, OTHER, "/0", "/1", "/2"]


def test_made_up_releases_do_not_fill_a_project_within_an_hour(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_NEW_GROUPS = 3
    endpoint.post([make_envelope(str(n), release=f"made-up-{n}") for n in range(10)])
    assert endpoint.post(make_envelope("real", release="2.0.0")).status == 202
    assert (OTHER, OTHER) in places(endpoint)
    assert len(set(places(endpoint))) == 4

    Group.objects.update(first_seen_at=datetime.now(UTC) - timedelta(minutes=61))
    clear_caches()  # as after some seconds
    endpoint.post(make_envelope("later", release="2.0.0", page="/cart"))
    assert ("2.0.0", "/cart") in places(endpoint)


def test_an_announced_release_has_room_in_a_full_project(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_GROUPS = 1
    settings.INGEST_ANNOUNCED_PAGES = 2
    endpoint.post(make_envelope("a", release="made-up"))
    announce(endpoint, "2.0.0")
    endpoint.post([make_envelope(f"v{n}", release="2.0.0", page=f"/{n}") for n in range(3)])
    endpoint.post(make_envelope("b", release="3.0.0"))
    assert [place for place in places(endpoint) if place[0] != "made-up"] == [
        (OTHER, OTHER),
        ("2.0.0", OTHER),
        ("2.0.0", "/0"),
        ("2.0.0", "/1"),
    ]


def test_other_projects_announcements_make_no_room(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_GROUPS = 1
    project, _ = create_project(slug="elsewhere", key="KEY-elsewhere", origins=["*"])
    announce_release(project.pk, "2.0.0", datetime.now(UTC))
    endpoint.post([make_envelope("a", page="/1"), make_envelope("b", release="2.0.0")])
    assert (OTHER, OTHER) in places(endpoint)


def test_other_is_as_old_as_its_project_and_so_never_the_newest_release(
    endpoint: IngestServer, settings: Settings
) -> None:
    settings.INGEST_MAX_GROUPS = 1
    endpoint.post([make_envelope("a", page="/1"), make_envelope("b", page="/2")])
    other = Group.objects.get(release=OTHER)
    assert other.first_seen_at == Project.objects.get().created_at


def test_a_closed_group_is_opened_by_its_next_trace(endpoint: IngestServer) -> None:
    endpoint.post(make_envelope("a"))
    Group.objects.update(closed_at=datetime.now(UTC))
    clear_caches()
    assert endpoint.post(make_envelope("b")).status == 202
    assert Group.objects.get().closed_at is None
    assert len(endpoint.receipts()) == 2


def test_a_project_has_a_bound_on_announced_releases(endpoint: IngestServer, settings: Settings) -> None:
    settings.MAX_ANNOUNCED_RELEASES = 1
    announce(endpoint, "1.0.0")
    announce(endpoint, "1.0.0")
    with pytest.raises(ReleaseError, match="1 announced releases"):
        announce(endpoint, "2.0.0")
