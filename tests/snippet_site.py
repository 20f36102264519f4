"""A site with the snippet, on two hosts, and an endpoint that keeps what arrives in memory."""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from ingest.snippet.views import SNIPPET_PATH, STUB_PATH
from ops.loopback import serve_on_loopback

GZIP: Final = b"\x1f\x8b"
POLICY: Final = "js-profiling, js-profiling-mode=lazy"
# Some work in every tenth of a second, with pauses: a page in use.
WORK: Final = """
function spin(ms) { const end = performance.now() + ms; let n = 0; while (performance.now() < end) n += 1; return n; }
function render() { return spin(10 + Math.random() * 20); }
function load() { for (let n = 0; n < 5; n += 1) setTimeout(spin, n * 60, 40); }
load();
setInterval(render, 100);
"""
# The page's own beacon at its exit, of ten kB: it must not be lost through ours.
OWN_BEACON: Final = """
addEventListener('pagehide', () => navigator.sendBeacon('/own' + location.search, 'x'.repeat(10240)));
"""


@dataclass(slots=True, kw_only=True)
class IngestServer:
    """What arrived: envelopes by the visit's number, the begins of documents (epoch ms), and the pages' own beacons."""

    envelopes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # Any: JSON of the snippet
    begins: dict[str, float] = field(default_factory=dict)
    beacons: set[str] = field(default_factory=set)
    posts: int = 0
    sent_bytes: int = 0


class _Handler(BaseHTTPRequestHandler):
    endpoint: IngestServer
    pages: dict[str, tuple[str, dict[str, str]]]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path in ("/snippet.js", "/full.js"):
            headers = {"Content-Type": "text/javascript", "Access-Control-Allow-Origin": "*"}
            self.answer(200, SNIPPET_PATH.with_name(address.path[1:]).read_bytes(), headers)
        elif address.path == "/begin":
            query = parse_qs(address.query)
            self.endpoint.begins[query["visit"][0]] = float(query["at"][0])
            self.answer(204)
        elif address.path in self.pages:
            html, headers = self.pages[address.path]
            self.answer(200, html.encode(), {"Content-Type": "text/html; charset=utf-8", **headers})
        else:
            self.answer(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        address = urlsplit(self.path)
        if address.path == "/own":
            self.endpoint.beacons.add(parse_qs(address.query)["visit"][0])
        else:
            self.endpoint.posts += 1
            self.endpoint.sent_bytes += len(body)
            text = gzip.decompress(body) if body[:2] == GZIP else body
            for line in text.splitlines():
                envelope = json.loads(line)
                visit = parse_qs(urlsplit(envelope["url"]).query).get("visit", [""])[0]
                self.endpoint.envelopes.setdefault(visit, []).append(envelope)
        self.answer(202, b"{}", {"Access-Control-Allow-Origin": "*"})

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def write_tags(endpoint_url: str, attributes: str = "", core: str = "snippet") -> str:
    """Returns the stub and the core's tag, or that of the `full` core."""
    return (
        f"<script>{STUB_PATH.read_text()}</script>"
        f"<script async src='{endpoint_url}/{core}.js' data-key=bench data-release=1 data-page=/ data-localhost"
        f" {attributes} crossorigin></script>"
    )


def write_page(
    endpoint_url: str, *, head: str = "", work: str = WORK, attributes: str = "", core: str = "snippet"
) -> str:
    """Returns a page that says when it began, includes the stub and the core of `endpoint_url`, and works."""
    begin = "new Image().src = `/begin${location.search}&at=${performance.timeOrigin}`;"
    return (
        f"<!doctype html><meta charset=utf-8><title>page</title><link rel=icon href='data:,'>{head}"
        f"{write_tags(endpoint_url, attributes, core)}"
        f"<script>{begin}{OWN_BEACON}{work}</script>"
        "<a id=next href='/next'>next</a>"
    )


@contextmanager
def serve(pages: dict[str, tuple[str, dict[str, str]]], endpoint: IngestServer) -> Iterator[int]:
    """Serves pages ((HTML, headers) by path) and the endpoint on 127.0.0.1; yields the port. Pages may be added
    later.
    """
    with serve_on_loopback(type("Handler", (_Handler,), {"endpoint": endpoint, "pages": pages})) as port:
        yield port
