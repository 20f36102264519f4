"""The shop, its vendor and an endpoint, served by https on 127.0.0.1 under three names."""

import gzip
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from ingest.snippet.views import SNIPPET_PATH, STUB_PATH
from ops.demo.story import INGEST_HOST, RELEASE_WITH_TAG, SHOP_HOST, TAG_HOST, TAG_PATH
from ops.loopback import serve_on_loopback

GZIP: Final = b"\x1f\x8b"
POLICY: Final = "js-profiling, js-profiling-mode=lazy"
CORS: Final = {"Access-Control-Allow-Origin": "*"}
SCRIPT: Final = {"Content-Type": "text/javascript", "Cache-Control": "max-age=3600", **CORS}
RELEASE_COOKIE: Final = "release"
VISIT_COOKIE: Final = "visit"
PAGES: Final = {"": "/", "category": "/category/:name", "product": "/product/:id", "checkout": "/checkout"}
HTML: Final = """<!doctype html><html lang=en><head><meta charset=utf-8>
<script>{stub}</script>
<script async src="https://{endpoint}/snippet.js" data-key="{visit}" data-release="{release}" data-page="{page}"
  data-bots crossorigin></script>
<title>Hill &amp; Dale</title><meta name=viewport content="width=device-width, initial-scale=1">
<link rel=icon href="data:,"><link rel=stylesheet href="/shop.css">
<script type=module src="/{entry}" crossorigin></script>{tag}
</head><body><main></main></body></html>
"""


@dataclass(slots=True)
class IngestServer:
    """The envelopes that arrived, by the visit that sent them."""

    envelopes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # Any: JSON of the snippet

    def take(self, visit: str, body: bytes) -> None:
        text = gzip.decompress(body) if body[:2] == GZIP else body
        self.envelopes.setdefault(visit, []).extend(json.loads(line) for line in text.splitlines())


class Builds:
    """The files of `build_shop`, packed once."""

    def __init__(self, folder: Path, css: Path) -> None:
        self.folder = folder
        self.css = css

    @cached_property
    def scripts(self) -> dict[str, bytes]:
        """The scripts of all releases by path: their names are hashes, so that equal names are equal scripts."""
        return {f"/assets/{path.name}": gzip.compress(path.read_bytes()) for path in self.folder.glob("*/assets/*.js")}

    @cached_property
    def entries(self) -> dict[str, str]:
        return {path.parent.name: path.read_text().strip() for path in self.folder.glob("*/entry.txt")}

    @cached_property
    def others(self) -> dict[tuple[str, str], tuple[dict[str, str], bytes]]:
        """Other files by host and path: headers and packed body."""
        files = {
            (SHOP_HOST, "/shop.css"): ({"Content-Type": "text/css"}, self.css),
            (SHOP_HOST, "/api/catalogue.json"): ({"Content-Type": "application/json"}, self.folder / "catalogue.json"),
            (TAG_HOST, TAG_PATH): (SCRIPT, self.folder / "vendor" / "tag.js"),
            (INGEST_HOST, "/snippet.js"): (SCRIPT, SNIPPET_PATH),
        }
        return {place: (headers, gzip.compress(path.read_bytes())) for place, (headers, path) in files.items()}

    def write_page(self, path: str, release: str, visit: str) -> str:
        """Returns the document of a page in a release."""
        tag = f'<script async src="https://{TAG_HOST}{TAG_PATH}" crossorigin></script>'
        return HTML.format(
            stub=STUB_PATH.read_text(),
            endpoint=INGEST_HOST,
            visit=visit,
            release=release,
            page=PAGES[path.split("/")[1]],
            entry=self.entries[release],
            tag=tag if release == RELEASE_WITH_TAG else "",
        )


class _Handler(BaseHTTPRequestHandler):
    endpoint: IngestServer
    builds: Builds
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        host, path = self.headers["Host"].partition(":")[0], urlsplit(self.path).path
        if host == SHOP_HOST and path in self.builds.scripts:
            self.answer(200, SCRIPT, self.builds.scripts[path])
        elif (host, path) in self.builds.others:
            self.answer(200, *self.builds.others[host, path])
        elif host == SHOP_HOST and path.split("/")[1] in PAGES:
            cookies = SimpleCookie(self.headers["Cookie"])
            release, visit = cookies[RELEASE_COOKIE].value, cookies[VISIT_COOKIE].value
            headers = {"Content-Type": "text/html; charset=utf-8", "Document-Policy": POLICY}
            self.answer(200, headers, gzip.compress(self.builds.write_page(path, release, visit).encode()))
        else:
            self.answer(404, {}, b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        address = urlsplit(self.path)
        if address.path == "/ingest/v1/traces":
            self.endpoint.take(parse_qs(address.query)["key"][0], body)
        self.answer(202, CORS, gzip.compress(b"{}"))

    def answer(self, status: int, headers: dict[str, str], packed: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(packed)))
        self.end_headers()
        self.wfile.write(packed)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serve(builds: Builds, endpoint: IngestServer, certificate: Path) -> Iterator[int]:
    """Serves the builds and an endpoint by https on 127.0.0.1; yields the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    handler = type("Handler", (_Handler,), {"endpoint": endpoint, "builds": builds})
    with serve_on_loopback(handler, context) as port:
        yield port
