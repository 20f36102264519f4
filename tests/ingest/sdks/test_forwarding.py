"""What Datadog's SDK sends beside profiles is dropped, or passed on to the site that the key names."""

import http.client
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode

import pytest

from ingest.endpoint import forwarding
from projects.keys import DATADOG_SITES, change_forwarding
from projects.models import IngestKey
from tests.ingest.endpoint.posting import IngestResponse, IngestServer
from tests.ingest.sdks.datadog_forms import SHOP, make_form, make_parts, send

RUM = "/api/v2/rum?ddsource=browser&dd-api-key=pub&batch_time=1"


@dataclass
class Datadog:
    """A server in the place of Datadog: what it heard, and what it answers."""

    hosts: list[str] = field(default_factory=list)
    heard: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    status: int = 202
    is_away: bool = False


@pytest.fixture
def datadog(monkeypatch: pytest.MonkeyPatch) -> Iterator[Datadog]:
    there = Datadog()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            there.heard.append((self.path, dict(self.headers), body))
            self.send_response(there.status)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def connect(host: str) -> http.client.HTTPConnection:
        there.hosts.append(host)
        return http.client.HTTPConnection("127.0.0.1", 1 if there.is_away else server.server_port, timeout=5)

    monkeypatch.setattr(forwarding, "connect", connect)
    yield there
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def forwarded(endpoint: IngestServer, datadog: Datadog) -> IngestServer:
    change_forwarding(IngestKey.objects.get(public_key=endpoint.key), "us3.datadoghq.com")
    return endpoint


def post_rum(endpoint: IngestServer, target: str = RUM, *, subdomain: str = "", **headers: str) -> IngestResponse:
    query = urlencode({"ddforward": target} | ({"ddforwardSubdomain": subdomain} if subdomain else {}))
    address = f"/datadog/{endpoint.key}?{query}"
    return endpoint.ask("POST", b"{}", content_type="text/plain", address=address, origin=SHOP, **headers)


def test_by_default_nothing_leaves_the_server(endpoint: IngestServer, datadog: Datadog) -> None:
    assert post_rum(endpoint).status == 202
    assert datadog.hosts == []


def test_what_is_no_profile_goes_to_the_site_with_what_datadog_needs(forwarded: IngestServer, datadog: Datadog) -> None:
    answer = post_rum(forwarded, user_agent="Chrome", x_forwarded_for="203.0.113.7")
    assert (answer.status, answer.json) == (202, {})
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    ((path, headers, body),) = datadog.heard
    assert (datadog.hosts, path, body) == (["browser-intake-us3-datadoghq.com"], RUM, b"{}")
    assert {name: headers[name] for name in ("Content-Type", "User-Agent", "X-Forwarded-For", "Origin")} == {
        "Content-Type": "text/plain",
        "User-Agent": "Chrome",
        "X-Forwarded-For": "203.0.113.7",
        "Origin": SHOP,
    }
    post_rum(forwarded, subdomain="session")
    assert datadog.hosts[-1] == "session.browser-intake-us3-datadoghq.com"
    where_proxy_is_a_function = f"/datadog/{forwarded.key}{RUM}"
    assert forwarded.ask("POST", b"x", address=where_proxy_is_a_function, origin=SHOP).status == 202
    assert datadog.heard[-1][0] == RUM


def test_profiles_stay_here(forwarded: IngestServer, datadog: Datadog) -> None:
    assert send(forwarded, make_form(make_parts())).status == 202
    assert send(forwarded, make_form(make_parts()), "", forward="/api/v2/profile?ddsource=browser").status == 202
    assert datadog.heard == []


@pytest.mark.parametrize("status", [200, 302, 400, 403, 413, 429, 503])
def test_the_status_is_passed_back_and_no_redirect_is_followed(
    forwarded: IngestServer, datadog: Datadog, status: int
) -> None:
    datadog.status = status
    assert post_rum(forwarded).status == status
    assert len(datadog.heard) == 1


def test_while_datadog_is_away_or_slow_the_sdk_sends_again(
    forwarded: IngestServer, datadog: Datadog, monkeypatch: pytest.MonkeyPatch
) -> None:
    datadog.is_away = True
    assert (post_rum(forwarded).status, post_rum(forwarded).headers["Retry-After"]) == (503, "5")
    datadog.is_away = False
    monkeypatch.setattr(forwarding, "_places", threading.BoundedSemaphore(1))
    assert post_rum(forwarded).status == 202  # the place is free again
    with forwarding._places:
        assert post_rum(forwarded).status == 503
    assert post_rum(forwarded).status == 202


@pytest.mark.parametrize(
    "target",
    [
        *("http://evil.example/api/v2/rum", "//evil.example/api/v2/rum", "@evil.example/api/v2/rum"),
        *("/api/v2/../v1/keys", "/api/v1/keys", "/api/v2/", "/api/v2/rum?" + "a" * 8_000),
        *("/api/v2/rum\r\nX: y", "/api/v2/rum x", "/api/v2/r\u00fcm"),
    ],
)
def test_only_addresses_of_the_sdk_are_passed_on(forwarded: IngestServer, datadog: Datadog, target: str) -> None:
    answer = post_rum(forwarded, target)
    assert (answer.status, answer.json.get("path")) == (400, "ddforward")
    assert datadog.hosts == []


@pytest.mark.parametrize("subdomain", ["evil.example#", "a.b", "a/b", "x" * 31])
def test_a_subdomain_is_one_word(forwarded: IngestServer, datadog: Datadog, subdomain: str) -> None:
    assert post_rum(forwarded, subdomain=subdomain).status == 400
    assert datadog.hosts == []


def test_each_site_has_the_host_that_the_sdk_sends_to() -> None:
    assert {site: forwarding.host_of(site) for site in DATADOG_SITES} == {
        "datadoghq.com": "browser-intake-datadoghq.com",
        "us3.datadoghq.com": "browser-intake-us3-datadoghq.com",
        "us5.datadoghq.com": "browser-intake-us5-datadoghq.com",
        "datadoghq.eu": "browser-intake-datadoghq.eu",
        "ap1.datadoghq.com": "browser-intake-ap1-datadoghq.com",
        "ap2.datadoghq.com": "browser-intake-ap2-datadoghq.com",
        "ddog-gov.com": "browser-intake-ddog-gov.com",
    }
