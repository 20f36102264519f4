"""Servers of a test that the doctor visits: a page with headers, its scripts, and traps."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from aggregate.doctor import visiting
from aggregate.doctor.examining import VISIT_MODULE
from aggregate.doctor.findings import Finding

Headers = Sequence[tuple[str, str]]
POLICY = ("Document-Policy", "js-profiling, js-profiling-mode=lazy")
HTML = ("Content-Type", "text/html; charset=utf-8")


@dataclass
class Reply:
    """One answer of a site. `speak` writes to the socket instead of it."""

    status: int = 200
    headers: Headers = ()
    body: bytes = b""
    speak: Callable[[BaseHTTPRequestHandler], None] | None = None


@dataclass
class VisitedSite:
    """A site on a port of 127.0.0.1. `replies` are by path; the page `/` is made of its parts."""

    port: int
    replies: dict[str, Reply | Callable[[BaseHTTPRequestHandler], Reply]] = field(default_factory=dict)
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def set_page(self, html: str, headers: Headers = (POLICY,), path: str = "/") -> None:
        """Sets a page."""
        self.replies[path] = Reply(200, [HTML, *headers], html.encode())

    def set_script(self, path: str, text: str = "run()", headers: Headers = ()) -> None:
        """Sets a script."""
        self.replies[path] = Reply(200, [("Content-Type", "text/javascript"), *headers], text.encode())

    def headers_of(self, path: str) -> list[dict[str, str]]:
        """Returns the headers of each request to a path, with names in small letters."""
        return [headers for seen, headers in self.seen if seen == path]


class VisitedHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: VisitedSite

    def do_GET(self) -> None:
        self.site.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        plan = self.site.replies.get(self.path.partition("?")[0], Reply(404))
        reply = plan(self) if callable(plan) else plan
        self.close_connection = True
        if reply.speak is not None:
            reply.speak(self)
            return
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        if not any(name == "Content-Length" for name, _ in reply.headers):
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class QuietServer(ThreadingHTTPServer):
    """A server whose visitor may hang up."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@contextmanager
def serve_visited() -> Iterator[VisitedSite]:
    """Serves a site until the block ends."""

    class Handler(VisitedHandler):
        pass

    server = QuietServer(("127.0.0.1", 0), Handler)
    Handler.site = VisitedSite(port=server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield Handler.site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def visit_here(module: str, task: bytes, *, timeout_s: int) -> bytes:
    """Does in this process what `run_alone` does in another: a hundred tests need not start one each."""
    assert module == VISIT_MODULE
    assert timeout_s > 0
    return msgspec.msgpack.encode(visiting.visit(visiting.task_decoder.decode(task)))


def by_check(findings: Sequence[Finding]) -> dict[str, Finding]:
    """Returns findings by their check, of several with one name the last."""
    return {finding.check: finding for finding in findings}
