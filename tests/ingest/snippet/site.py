"""A small web server that plays both the site that includes the snippet and the endpoint that takes its posts."""

import gzip
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from django.test import RequestFactory

from ingest.snippet.views import SNIPPET_PATH, demo

ENDPOINT_PATH = "/ingest/v1/traces"
ABSENT_PATH = "/ingest/v1/absent"
LOADS_PATH = "/ingest/v1/loads"
WAIT_S = 120.0


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """One request as it came, with the time of its arrival (seconds of the monotonic clock)."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def envelopes(self) -> list[dict[str, Any]]:  # Any: the tests read single fields of a JSON object
        text = gzip.decompress(self.body) if self.body[:2] == b"\x1f\x8b" else self.body
        return [json.loads(line) for line in text.splitlines()]

    @property
    def envelope(self) -> dict[str, Any]:  # Any: as above
        """The only envelope of the post."""
        (envelope,) = self.envelopes
        return envelope


@dataclass(slots=True, kw_only=True)
class Site:
    """Pages are HTML by path; `answers` are the endpoint's next (status, headers), 202 when there are no more.

    `absents` are the reports of pages that recorded nothing.
    """

    port: int
    pages: dict[str, str] = field(default_factory=dict)
    page_headers: dict[str, str] = field(default_factory=lambda: {"Document-Policy": "js-profiling"})
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    posts: list[IngestRequest] = field(default_factory=list)
    delays: dict[str, float] = field(default_factory=dict)  # seconds before an answer, by path
    files: dict[str, str] = field(default_factory=dict)  # scripts by path
    file_headers: dict[str, str] = field(default_factory=dict)  # of these scripts
    others: list[bytes] = field(default_factory=list)  # what another product on the page has sent
    asked: list[str] = field(default_factory=list)  # the addresses of all reads
    absents: list[dict[str, str]] = field(default_factory=list)
    loads: list[dict[str, str]] = field(default_factory=list)  # how soon pages were there
    word: dict[str, Any] = field(default_factory=dict)  # Any: what the endpoint's answers hold
    settings: dict[str, Any] | None = None  # Any: what the core script holds of the server

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def add_page(
        self,
        *,
        attributes: str = "",
        before: str = "",
        after: str = "",
        path: str = "/",
        holds: bool = False,
        core: str = "snippet",
    ) -> None:
        """Adds a page that runs the script `before`, includes the snippet, or its full `core`, and runs `after`.

        By default the browser holds nothing (`fetchLater`), so that each chunk is sent at once.
        """
        hold = "" if holds else "delete window.fetchLater;"
        self.pages[path] = (
            f"<!doctype html><title>page</title><link rel=icon href='data:,'><script>{hold}{before}</script>"
            f"<script src='/{core}.js' data-key=site-key data-release=r1 data-localhost {attributes}></script>"
            f"<body><script>{after}</script>"
        )

    @property
    def envelopes(self) -> list[dict[str, Any]]:  # Any: as in `IngestRequest`
        """All envelopes that came, as they were recorded: view by view, by `seq`. Posts may overtake each other."""
        came = [envelope for post in self.posts for envelope in post.envelopes]
        starts: dict[str, float] = {}
        for envelope in came:
            view_id = envelope["viewId"]
            starts[view_id] = min(starts.get(view_id, math.inf), envelope["viewStart"])
        return sorted(came, key=lambda envelope: (starts[envelope["viewId"]], envelope["seq"]))

    def wait_for_posts(self, count: int, rest: Callable[[int], None]) -> list[IngestRequest]:
        """Waits until `count` posts came. `rest` takes ms and lets the browser's own events through meanwhile."""
        end = time.monotonic() + WAIT_S
        while len(self.posts) < count:
            assert time.monotonic() < end, f"{len(self.posts)} of {count} posts came in {WAIT_S:.0f} s"
            rest(20)
        return self.posts


class SiteHandler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.site.asked.append(self.path)
        time.sleep(self.site.delays.get(path, 0))
        if path in ("/snippet.js", "/full.js"):
            headers = {"Content-Type": "text/javascript", "Access-Control-Allow-Origin": "*"}
            core = SNIPPET_PATH.with_name(path[1:]).read_text()
            if self.site.settings is not None:
                core = core.replace('"FIELDFLAME_SETTINGS"', json.dumps(self.site.settings))
            self.answer(200, headers, core.encode())
        elif path in self.site.files:
            headers = {"Content-Type": "text/javascript", **self.site.file_headers}
            self.answer(200, headers, self.site.files[path].encode())
        elif path == ABSENT_PATH:
            self.site.absents.append(dict(parse_qsl(self.path.partition("?")[2])))
            self.answer(204, {"Access-Control-Allow-Origin": "*"}, b"")
        elif path == LOADS_PATH:
            self.site.loads.append(dict(parse_qsl(self.path.partition("?")[2])))
            self.answer(204, {"Access-Control-Allow-Origin": "*"}, b"")
        elif path.startswith("/demo/"):
            served = demo(RequestFactory().get(path), path.removeprefix("/demo/"))
            self.answer(served.status_code, dict(served.items()), served.content)
        elif path in self.site.pages:
            headers = {"Content-Type": "text/html; charset=utf-8", **self.site.page_headers}
            self.answer(200, headers, self.site.pages[path].encode())
        else:
            self.answer(404, {}, b"")

    def do_OPTIONS(self) -> None:
        """Refuses every preflight: a post of the snippet must not need one."""
        self.answer(405, {}, b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/api/"):
            self.site.others.append(body)
            self.answer(200, {"Access-Control-Allow-Origin": "*"}, b"{}")
            return
        status, headers = self.site.answers.pop(0) if self.site.answers else (202, {})
        self.site.posts.append(IngestRequest(self.path, dict(self.headers), body, time.monotonic()))
        time.sleep(self.site.delays.get(self.path.partition("?")[0], 0))
        expose = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
        self.answer(status, {**expose, **headers}, json.dumps(self.site.word).encode())

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serve_site() -> Iterator[Site]:
    class handler(SiteHandler):  # noqa: N801  # one class a server, since the class is what holds its site
        pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    handler.site = Site(port=server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield handler.site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
