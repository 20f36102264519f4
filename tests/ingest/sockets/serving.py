"""The real web server, before the test's database, and senders that are slow on purpose."""

import contextlib
import http.client
import json
import resource
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ops.supervisor.folder import DataFolder
from ops.supervisor.running import find_free_port
from ops.supervisor.services import make_environment, make_web_child, read_endpoint
from tests.aggregate.posting import database_url
from tests.envelopes import make_envelope

LIMIT_S: Final = 180.0  # the machine may be busy
OWN_FILES: Final = 512  # of the test's process, besides the connections it holds open


@dataclass(frozen=True, slots=True)
class WebServer:
    """A running web server, as `./run` starts it."""

    port: int

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT_S)

    def post(self, key: str, name: str) -> int:
        """Posts a trace as a browser does; returns the status. Raises `TimeoutError`."""
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            body = json.dumps(make_envelope(name)).encode()
            asked.request("POST", f"/ingest/v1/traces?key={key}", body, {"Content-Type": "text/plain"})
            answer = asked.getresponse()
            answer.read()
            return answer.status
        finally:
            asked.close()

    @contextmanager
    def hold(self, count: int, head: bytes = b"") -> Iterator[list[socket.socket]]:
        """Keeps so many connections open, after `head` on each."""
        allow_open_files(count + OWN_FILES)
        with contextlib.ExitStack() as stack:
            held = [stack.enter_context(self.connect()) for _ in range(count)]
            for one in held:
                one.sendall(head)
            yield held


def allow_open_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def make_head(path: str, length: int = 100_000, media: str = "text/plain") -> bytes:
    """Returns the header of a post whose body is still to come."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Type: {media}", f"Content-Length: {length}"]
    lines += [f"Cookie: csrftoken={'a' * 32}", "", ""]
    return "\r\n".join(lines).encode()


def read_to_end(one: socket.socket, drip: bytes = b"") -> bytes:
    """Returns what the server says until it ends the connection, to a sender that sends `drip` every half second."""
    deadline = time.monotonic() + LIMIT_S
    said = b""
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            one.send(drip)
        if select.select([one], [], [], 0.5)[0]:
            try:
                piece = one.recv(65_536)
            except ConnectionResetError:
                return said
            if not piece:
                return said
            said += piece
    raise AssertionError(f"the server kept the connection open for {LIMIT_S:.0f} s, and said {said!r}")


@contextmanager
def run_web_server(path: Path, port: int | None = None, /, **environment: str) -> Iterator[WebServer]:
    """Runs the web server with some settings. The test's rows must be committed."""
    folder = DataFolder(path / "var")
    folder.create()
    port = port or find_free_port()
    extra = {"DATABASE_URL": database_url(), **environment}
    child = make_web_child(
        folder, make_environment(folder, host="127.0.0.1", port=port, extra=extra), host="127.0.0.1", port=port
    )
    child.start()
    try:
        deadline = time.monotonic() + LIMIT_S
        while read_endpoint(f"http://127.0.0.1:{port}/healthz")[0] != 200:
            assert child.is_running(), child.log.read_text()
            assert time.monotonic() < deadline, child.log.read_text()
            time.sleep(0.1)
        yield WebServer(port)
    finally:
        child.stop(lambda: False)
