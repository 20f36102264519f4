"""`/metrics` of a worker or beat, which serve nothing else: a process next to each, if it has a port.

It is a fork of the part's main process, before that opens connections or forks others, so both share their memory. No
thread: the worker's main process goes on forking, and a fork of a process with threads may wait for a lock for ever.
"""

import ctypes
import logging
import multiprocessing
import os
import signal
import socket
import sys
from ipaddress import ip_address
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from celery.signals import beat_init, worker_init
from django.conf import settings
from django.utils.crypto import constant_time_compare
from prometheus_client import CONTENT_TYPE_LATEST

logger = logging.getLogger(__name__)

WAIT_S: Final = 5.0  # for a request: there is one server, and no thread for each
PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
FORBIDDEN: Final = (
    b"Metrics are for this machine itself, or for `Authorization: Bearer` with FIELDFLAME_METRICS_TOKEN.\n"
)


def may_read(address: str, authorization: str, *, is_proxied: bool) -> bool:
    """Returns whether a request comes from this machine itself, not through a proxy, or has the token for metrics."""
    token: str = settings.METRICS_TOKEN
    if token and constant_time_compare(authorization, f"Bearer {token}"):
        return True
    if is_proxied:
        return False
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def answer_metrics(environ: dict[str, Any], start_response: Any) -> list[bytes]:  # Any: WSGI's own types
    """Answers `/metrics` of a part without tables, and nothing else."""
    if environ["PATH_INFO"] != "/metrics" or environ["REQUEST_METHOD"] != "GET":
        start_response("404 Not Found", [("Content-Length", "0")])
        return [b""]
    if not may_read(environ.get("REMOTE_ADDR", ""), environ.get("HTTP_AUTHORIZATION", ""), is_proxied=False):
        start_response("403 Forbidden", [("Content-Type", "text/plain; charset=utf-8")])
        return [FORBIDDEN]
    # Celery imports this module before Django knows the models.
    from ops.telemetry.exposition import render_metrics

    start_response("200 OK", [("Content-Type", CONTENT_TYPE_LATEST)])
    return [render_metrics(with_stores=False)]


class QuietHandler(WSGIRequestHandler):
    """Logs no line for each reading, and waits for no slow reader."""

    timeout = WAIT_S

    def log_message(self, format: str, *args: Any) -> None:  # Any: as the library has it
        pass

    def address_string(self) -> str:
        return str(self.client_address[0])  # without asking for a name


class MetricsServer(WSGIServer):
    """Survives readers that go away, and asks no name server for its own name."""

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()


def open_server(host: str, port: int) -> MetricsServer:
    """Returns a server that listens. Raises `OSError`."""
    server = MetricsServer((host, port), QuietHandler)
    server.set_app(answer_metrics)
    return server


def serve_beside(port: int) -> None:
    """Serves the metrics of this process and its children in a process of its own, which ends with this one.

    If the port is taken, this is logged, and the part goes on: folding matters more.
    """
    if port:
        try:
            server = open_server(settings.METRICS_HOST, port)
        except OSError as error:
            why = f"port {port} of {settings.METRICS_HOST} cannot be used ({error.strerror})"
            # A traceback would say nothing more.
            logger.error("No metrics of this part: %s. A second part on a host needs a port of its own.", why)  # noqa: TRY400
            return
        process = multiprocessing.get_context("fork").Process(target=_serve, args=[server, os.getpid()], daemon=True)
        process.start()
        server.socket.close()


def _serve(server: MetricsServer, parent: int) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; this one ends with its parent
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() == parent:
        server.serve_forever()


@worker_init.connect
def serve_worker(**_: object) -> None:
    serve_beside(settings.WORKER_METRICS_PORT)


@beat_init.connect
def serve_beat(**_: object) -> None:
    serve_beside(settings.BEAT_METRICS_PORT)
