"""A small HTTP server on 127.0.0.1, for recordings and measurements with a browser."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # browsers keep connections open

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that closes its connection, or is killed, is no error."""


@contextmanager
def serve_on_loopback(handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serves on a free port of 127.0.0.1, by https if there is a `context`; yields the port."""
    server = _Server(("127.0.0.1", 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
