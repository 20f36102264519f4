"""A page that crashes in a real Chromium is reported to the endpoint, over https and from another origin.

Here it runs out of memory: nothing but a person's click ends a page that hangs. What Chromium sends of those was
recorded once (`tests/profcore/hangs/recorded.py`).
"""

import hashlib
import http.client
import ssl
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page
from pytest_django.live_server_helper import LiveServer

from ingest.hang_models import HangCount
from ops.loopback import serve_on_loopback
from profcore.hangs.reports import HANG_REASONS
from projects.creation import create_project
from tests.deploy.proxy import make_certificate
from tests.e2e.browser import CHROMIUM_FLAGS, find_chromium
from tests.runner.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

USER_AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"


class Front(BaseHTTPRequestHandler):
    """A site whose pages name the endpoint, and the endpoint itself, behind TLS."""

    upstream: str
    asked: list[str]

    def do_GET(self) -> None:
        address = f"https://profiles.test:{self.headers['Host'].rpartition(':')[2]}/ingest/v1/reports"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Reporting-Endpoints", f'default="{address}?key=shop-key&release=1.4.0"')
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Cart</title>")

    def pass_on(self) -> None:
        self.asked.append(self.command)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        upstream = http.client.HTTPConnection(self.upstream, timeout=60)
        kept = {name: text for name, text in self.headers.items() if name.lower() not in ("host", "connection")}
        upstream.request(self.command, self.path, body, kept)
        answer = upstream.getresponse()
        self.send_response(answer.status)
        for name, text in answer.getheaders():
            if name.lower().startswith("access-control-"):
                self.send_header(name, text)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_OPTIONS(self) -> None:
        self.pass_on()

    def do_POST(self) -> None:
        self.pass_on()

    def log_message(self, *_: object) -> None:
        """Writes nothing."""


@contextmanager
def serve(folder: Path, live_server: LiveServer) -> Iterator[tuple[int, list[str]]]:
    """Serves the front, and yields its port and the methods that it has passed on."""
    make_certificate(folder)
    asked: list[str] = []
    handler = type("Handler", (Front,), {"upstream": live_server.url.removeprefix("http://"), "asked": asked})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "fullchain.pem", folder / "privkey.pem")
    with serve_on_loopback(handler, context) as port:
        yield port, asked


@contextmanager
def open_trusting(chromium: Browser, folder: Path) -> Iterator[Page]:
    """Opens a page in a Chromium of its own that trusts the certificate, and sends reports at once."""
    key = subprocess.run(
        ["openssl", "pkey", "-in", str(folder / "privkey.pem"), "-pubout", "-outform", "der"],
        check=True,
        capture_output=True,
    ).stdout
    flags = [
        *CHROMIUM_FLAGS,
        f"--ignore-certificate-errors-spki-list={b64encode(hashlib.sha256(key).digest()).decode()}",
        f"--user-agent={USER_AGENT}",
        "--short-reporting-delay",
    ]
    browser = chromium.browser_type.launch(executable_path=find_chromium(), chromium_sandbox=False, args=flags)
    try:
        yield browser.new_page()
    finally:
        browser.close()


def test_a_page_without_memory_is_reported(chromium: Browser, live_server: LiveServer, tmp_path: Path) -> None:
    with serve(tmp_path, live_server) as (port, asked), open_trusting(chromium, tmp_path) as page:
        create_project(slug="shop", key="shop-key", origins=[f"https://shop.test:{port}"])
        page.goto(f"https://shop.test:{port}/product/17?who=me")
        with suppress(Error):  # the page is gone
            page.goto("chrome://memory-exhaust")
        wait_until(HangCount.objects.exists)
    [row] = HangCount.objects.all()
    assert (row.release, row.page, HANG_REASONS[row.reason]) == ("1.4.0", "/product/:id", "oom")
    assert asked[:2] == ["OPTIONS", "POST"]
