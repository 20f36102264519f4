"""The container's health check: healthy while /healthz answers 200 to an allowed host."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from ops.supervisor.running import find_free_port
from tests.deploy.files import DEPLOY


@contextmanager
def serve(allowed_host: str) -> Iterator[int]:
    """A server that answers as the app does: 200 for its host, 400 for another."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # http.server's name
            is_asked_well = self.path == "/healthz" and self.headers["Host"] == allowed_host
            self.send_response(200 if is_asked_well else 400)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def check_health(port: int, allowed: str | None) -> int:
    environment = {**os.environ, "FIELDFLAME_PORT": str(port)}
    environment.pop("FIELDFLAME_ALLOWED_HOSTS", None)
    if allowed is not None:
        environment["FIELDFLAME_ALLOWED_HOSTS"] = allowed
    return subprocess.run([sys.executable, DEPLOY / "check_health.py"], env=environment, check=False).returncode


@pytest.mark.parametrize(
    ("allowed", "host"),
    [
        (None, "127.0.0.1"),
        ("*", "127.0.0.1"),
        ("profiles.example.com,web", "profiles.example.com"),
        (" .example.com", "example.com"),
    ],
)
def test_an_allowed_host_is_asked_for(allowed: str | None, host: str) -> None:
    with serve(host) as port:
        assert check_health(port, allowed) == 0


def test_an_answer_that_is_not_200_is_unhealthy() -> None:
    with serve("other.example.com") as port:
        assert check_health(port, "profiles.example.com") == 1


def test_no_answer_is_unhealthy() -> None:
    assert check_health(find_free_port(), None) == 1
