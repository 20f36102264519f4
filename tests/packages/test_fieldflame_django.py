"""The Django middleware: the header on a share of pages, and its announcement on each."""

import ast
import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured, MiddlewareNotUsed
from django.http import HttpResponse
from django.test import AsyncClient, Client
from fieldflame_django import middleware
from fieldflame_django.middleware import POLICY, FieldflameMiddleware
from pytest_django import Settings

from aggregate.doctor.header_checks import read_announcement
from aggregate.doctor.structured import read_dictionary
from aggregate.doctor.visiting import Hop

PACKAGE = Path(middleware.__file__).parent
PATH = "fieldflame_django.middleware.FieldflameMiddleware"


@pytest.fixture(autouse=True)
def site(settings: Settings) -> Settings:
    settings.ROOT_URLCONF = "tests.packages.site_urls"
    settings.MIDDLEWARE = [PATH]
    settings.TEMPLATES = []  # a site of its own, without the pages of errors that this project has
    settings.FIELDFLAME_HEADER_RATE = 1
    return settings


def without_event_loop(ask: Callable[[], Any]) -> Any:  # Any: a test client's response
    """Asks in a thread of its own: in this one, Playwright keeps an event loop once a browser was used."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(ask).result()


def announced(response: Any) -> dict[str, str]:  # Any: a test client's response
    """Returns what a response announces, as the doctor reads it."""
    hop = Hop(url="", status=200, headers=[("server-timing", response.headers.get("Server-Timing", ""))])
    announcement = read_announcement(hop)
    assert announcement is None or not announcement.fault
    return announcement.values if announcement else {}


def test_a_page_has_the_header_and_its_announcement(client: Client) -> None:
    response = client.get("/")
    assert response.headers["Document-Policy"] == "js-profiling, js-profiling-mode=lazy"
    assert response.headers["Server-Timing"] == 'ff;desc="rate=1.0;on=1;page=/"'


def test_a_page_that_is_not_drawn_announces_it(client: Client, site: Settings) -> None:
    site.FIELDFLAME_HEADER_RATE = 0
    response = client.get("/")
    assert "Document-Policy" not in response.headers
    assert announced(response) == {"rate": "0.0", "on": "0", "page": "/"}


def test_the_share_of_pages_is_the_rate(client: Client, site: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    site.FIELDFLAME_HEADER_RATE = 0.25
    draws = iter([0.0, 0.2499, 0.25, 0.999])
    monkeypatch.setattr("random.random", lambda: next(draws))
    pages = [client.get("/") for _ in range(4)]
    assert [announced(page)["on"] for page in pages] == ["1", "1", "0", "0"]
    assert ["Document-Policy" in page.headers for page in pages] == [True, True, False, False]


def test_a_small_rate_is_written_without_an_exponent(client: Client, site: Settings) -> None:
    site.FIELDFLAME_HEADER_RATE = 0.00002
    assert announced(client.get("/"))["rate"] == "0.00002"


@pytest.mark.parametrize("path", ["/stream/", "/async/", "/stream-async/"])
def test_streams_and_async_views_are_pages(client: Client, path: str) -> None:
    response = without_event_loop(lambda: client.get(path))
    assert response.headers["Document-Policy"] == POLICY


@pytest.mark.parametrize("path", ["/", "/async/", "/stream-async/"])
def test_it_is_async_under_asgi(path: str) -> None:
    response = without_event_loop(lambda: asyncio.run(AsyncClient().get(path)))
    assert response.headers["Document-Policy"] == POLICY
    assert announced(response)["on"] == "1"


@pytest.mark.parametrize("path", ["/json/", "/redirect/"])
def test_what_is_no_page_stays_as_it_is(client: Client, path: str) -> None:
    headers = client.get(path).headers
    assert not {"Document-Policy", "Server-Timing"} & set(headers)


def test_a_page_with_an_error_is_a_page(client: Client) -> None:
    response = client.get("/missing")
    assert response.status_code == 404
    assert announced(response) == {"rate": "1.0", "on": "1"}


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/", "/"),
        ("/product/7/", "/product/:id/"),
        ("/old/1999/may/", "/old/:year/:var/"),
        ("/shop/kiosk/item/7", "/shop/:shop/item/:id"),
        ("/geschäft/a;x", "/geschäft/:name;x"),
    ],
)
def test_the_page_is_the_route(client: Client, path: str, page: str) -> None:
    assert announced(client.get(path))["page"] == page


def test_texts_are_percent_encoded(client: Client, site: Settings) -> None:
    site.FIELDFLAME_RELEASE = 'a";b, c\\ü'
    response = client.get("/geschäft/a;x")
    assert response.headers["Server-Timing"].isascii()
    assert re.fullmatch(r'ff;desc="[^"\\, ]+"', response.headers["Server-Timing"])
    assert announced(response)["release"] == 'a";b, c\\ü'


def test_headers_that_are_there_stay(client: Client) -> None:
    headers = {"Document-Policy": "unsized-media=?0;report-to=x", "Server-Timing": 'db;dur=4;desc="a, b"'}
    response = client.get("/own/", headers)
    members = read_dictionary(response.headers["Document-Policy"])
    assert members == {"unsized-media": False, "js-profiling": True, "js-profiling-mode": "lazy"}
    assert response.headers["Server-Timing"] == 'db;dur=4;desc="a, b", ff;desc="rate=1.0;on=1;page=/own/"'


@pytest.mark.parametrize(
    ("policy", "on"),
    [
        ("js-profiling", "1"),
        ("unsized-media=?0, js-profiling;report-to=x", "1"),
        ("js-profiling=?1", "1"),
        ("js-profiling=?0", "0"),
    ],
)
@pytest.mark.parametrize("rate", [0, 1])
def test_a_view_decides_for_its_pages(client: Client, site: Settings, rate: float, policy: str, on: str) -> None:
    site.FIELDFLAME_HEADER_RATE = rate
    response = client.get("/own/", {"Document-Policy": policy})
    assert response.headers["Document-Policy"] == policy
    assert announced(response) == {"rate": f"{on}.0", "on": on, "page": "/own/"}


def test_a_name_that_only_begins_alike_is_no_decision(client: Client) -> None:
    response = client.get("/own/", {"Document-Policy": "js-profiling-mode=lazy"})
    assert read_dictionary(response.headers["Document-Policy"])["js-profiling"] is True


@pytest.fixture
def make() -> Callable[[], FieldflameMiddleware]:
    return lambda: FieldflameMiddleware(lambda request: HttpResponse())


def test_it_is_off_in_development_unless_asked(make: Callable[[], FieldflameMiddleware], site: Settings) -> None:
    site.DEBUG = True
    with pytest.raises(MiddlewareNotUsed):
        make()
    site.FIELDFLAME_HEADER_IN_DEBUG = True
    assert make().rate == 1


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), "0.1", True, None])
def test_a_bad_rate_stops_the_start(make: Callable[[], FieldflameMiddleware], site: Settings, rate: object) -> None:
    site.FIELDFLAME_HEADER_RATE = rate
    with pytest.raises(ImproperlyConfigured, match="FIELDFLAME_HEADER_RATE"):
        make()


def test_without_a_setting_a_tenth_of_the_pages_has_the_header(
    make: Callable[[], FieldflameMiddleware], site: Settings
) -> None:
    del site.FIELDFLAME_HEADER_RATE
    assert make().rate == 0.1


def test_the_package_imports_django_and_the_standard_library_only() -> None:
    tops = set()
    for file in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                tops |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                tops.add((node.module or "").partition(".")[0])
    assert tops <= {"asgiref", "django", "collections", "decimal", "math", "random", "re", "typing", "urllib"}
