"""A web process computes a few heavy reads at a time; others wait for a moment, and one project does not take all."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from pytest_django import Settings

from dashboard.web.load_shedding import (
    MAX_WAITING,
    PLACES,
    LoadSheddingMiddleware,
    Places,
    TooManyReads,
    find_heavy,
)

API = "/api/v1/projects/shop/"
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
        raise LookupError

    with pytest.raises(LookupError):
        LoadSheddingMiddleware(fail)(RequestFactory().get(API + "flamegraph"))
    assert find_places() == 0


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


def test_other_addresses_are_not_heavy() -> None:
    assert find_heavy(RequestFactory().get("/projects/")) is None
    assert find_heavy(RequestFactory().get("/ingest/v1/traces")) is None
    assert find_heavy(RequestFactory().get("/no-such-page")) is None
