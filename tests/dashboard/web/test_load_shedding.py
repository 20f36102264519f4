"""A web process computes a few heavy reads at a time; others wait for a moment, and one project does not take all."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import resolve
from pytest_django import Settings

from dashboard.api.jobs.signing import sign_link
from dashboard.web.load_shedding import MAX_WAITING, PLACES, LoadSheddingMiddleware, Places, TooManyReads, take_place
from projects.models import Project
from tests.dashboard.conftest import VIEW_ID, People
from tests.dashboard.web.addresses import ADMIN_ADDRESSES, API, API_ADDRESSES, PAGE_ADDRESSES, SETTINGS, list_names
from tests.dashboard.web.guests.guests import below, open_as_guest, share

LONG_S = 300.0  # of a busy machine


@contextmanager
def taken(*projects: str, places: int = 4) -> Iterator[None]:
    """Heavy reads of projects are being computed meanwhile."""
    with ExitStack() as stack:
        for project in projects:
            stack.enter_context(PLACES.take(project, places=places, wait_s=0))
        yield


@pytest.fixture(autouse=True)
def _impatient(settings: Settings) -> None:
    settings.READ_HEAVY_AT_ONCE = 2
    settings.READ_HEAVY_WAIT_S = 0


def test_beyond_the_bound_an_answer_of_the_api_is_503(client: Client, bearer: dict[str, str]) -> None:
    with taken("a", "b"):
        answer = client.get(API + "flamegraph", headers=bearer)
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert answer.json()["detail"].endswith("Try again in a moment.")
        assert client.get(API + "status", headers=bearer).status_code == 200
    assert client.get(API + "flamegraph", headers=bearer).status_code == 200


def test_a_page_is_answered_and_its_part_says_in_its_place_what_to_do(member: Client) -> None:
    with taken("a", "b"):
        assert member.get("/projects/shop/functions/").status_code == 200
        part = member.get("/projects/shop/functions/table/", headers={"HX-Request": "true"})
        assert (part.status_code, "Try again in a moment." in part.content.decode()) == (200, True)
        page = member.get("/projects/shop/functions/?plain=1")
        assert (page.status_code, page["Retry-After"]) == (503, "5")


def test_one_project_does_not_take_the_place_of_others(client: Client, bearer: dict[str, str]) -> None:
    with taken("shop"):
        assert client.get(API + "functions", headers=bearer).status_code == 503
    with taken("elsewhere"):
        assert client.get(API + "functions", headers=bearer).status_code == 200


def test_an_export_that_is_received_slowly_keeps_no_place(client: Client, bearer: dict[str, str]) -> None:
    for _ in range(3):
        answer = client.get(API + "profile?format=csv", headers=bearer)
        assert answer.status_code == 200  # and not read
    assert find_places() == 0


def test_a_read_that_fails_gives_its_place_back() -> None:
    def fail(request: HttpRequest) -> HttpResponse:
        request.resolver_match = resolve(request.path_info)
        take_place(request, "shop")
        assert find_places() == 1
        raise LookupError

    with pytest.raises(LookupError):
        LoadSheddingMiddleware(fail)(RequestFactory().get(API + "flamegraph"))
    assert find_places() == 0


PREVIEWS = [API + "code/preview", API + "display/preview", API + "alerts/preview"]  # take a body
OTHERS = [*ADMIN_ADDRESSES, *PREVIEWS, SETTINGS + "alerts/7/", API + f"views/{VIEW_ID}/timeline"]


def list_heavy() -> list[str]:
    """Returns an address of each heavy page and endpoint of a project."""
    known = [*API_ADDRESSES, *PAGE_ADDRESSES, *OTHERS]
    addresses = {resolve(address.partition("?")[0]).url_name: address for address in known}
    # A signed link has no reader. Pyroscope's methods take bodies (`tests/dashboard/api/pyroscope`).
    names = list_names(lambda traits: traits.heavy != "no") - {"shared-profile", "pyroscope"}
    return sorted(addresses[name] for name in names)


@pytest.mark.parametrize("address", list_heavy())
def test_each_heavy_read_takes_a_place_once_its_reader_is_known(people: People, address: str) -> None:
    def ask(client: Client, **headers: str) -> Any:  # Any: the test client's own response
        if address in PREVIEWS:
            return client.post(address, headers=headers)
        plain = "" if "/api/" in address else "&plain=1" if "?" in address else "?plain=1"
        return client.get(address + plain, headers=headers)

    owner = Client()
    owner.force_login(people.owner)
    with taken("a", "b"):
        assert ask(Client()).status_code in (302, 401)
        assert ask(Client(), Authorization="Bearer ff_00000000_x").status_code in (302, 401)
        refused = ask(owner)
        assert (refused.status_code, refused["Retry-After"]) == (503, "5")
    assert find_places() == 0


def test_strangers_and_guests_without_the_cookie_take_no_place(people: People, shop: Project) -> None:
    link, clear = share(shop, people.member)
    guest, stranger = open_as_guest(clear), Client()
    stranger.force_login(people.stranger)
    tree = below(link, API + "flamegraph")
    with taken("a", "b"):
        assert guest.get(tree).status_code == 503
        assert Client().get(tree).status_code == 404
        assert stranger.get(API + "functions").status_code == 404
        assert stranger.get("/projects/shop/functions/table/").status_code == 404
        assert stranger.get("/projects/shop/functions/?plain=1").status_code == 404
        assert stranger.post(SETTINGS + "display/").status_code == 404
    assert guest.get(tree).status_code == 200


def test_only_a_valid_signed_link_takes_a_place(people: People, shop: Project) -> None:
    expires_at = datetime.now(UTC) + timedelta(hours=1)
    link = sign_link(shop, [("format", "csv")], expires_at, "shop.csv", maker=people.member)
    with taken("a", "b"):
        assert Client().get(link).status_code == 503
        assert Client().get(link.replace("/shop.csv", "x/shop.csv")).status_code == 404
    assert Client().get(link).status_code == 200


def find_places() -> int:
    """Returns how many places are taken."""
    return PLACES._taken.total()


def test_a_waiting_read_goes_on_as_soon_as_a_place_is_free() -> None:
    places, has_begun = Places(), threading.Event()

    def wait_for_a_place() -> None:
        with places.take("a", places=1, wait_s=LONG_S):
            has_begun.set()

    waiting = threading.Thread(target=wait_for_a_place)
    with places.take("b", places=1, wait_s=0):
        waiting.start()
        assert not has_begun.wait(0.2)
    assert has_begun.wait(LONG_S)
    waiting.join()


def test_few_reads_wait_so_that_threads_are_left() -> None:
    places, end = Places(), threading.Event()

    def wait_for_a_place() -> None:
        with places.take("a", places=1, wait_s=LONG_S):
            pass

    threads = [threading.Thread(target=wait_for_a_place) for _ in range(MAX_WAITING)]
    with places.take("b", places=1, wait_s=0):
        for thread in threads:
            thread.start()
        while places._waiting < MAX_WAITING:
            end.wait(0.01)
        with pytest.raises(TooManyReads), places.take("c", places=1, wait_s=LONG_S):
            raise AssertionError
    for thread in threads:
        thread.join()


@pytest.mark.django_db(transaction=True)
def test_a_read_that_waits_holds_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    Project.objects.exists()
    assert connection.connection is not None
    places = Places()
    with places.take("a", places=1, wait_s=0), pytest.raises(TooManyReads), places.take("b", places=1, wait_s=0):
        raise AssertionError
    assert connection.connection is None


def test_other_addresses_are_not_heavy(member: Client) -> None:
    with taken("a", "b"):
        assert member.get("/projects/").status_code == 200
        assert member.get("/no-such-page").status_code == 404
