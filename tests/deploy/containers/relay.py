"""Servers that listen on a socket in a private folder, reachable by TCP: for a container with another user."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

CHUNK_BYTES = 65_536


def pump(source: socket.socket, target: socket.socket) -> None:
    """Passes on what comes, and then the end."""
    with suppress(OSError):
        while piece := source.recv(CHUNK_BYTES):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


class RelayServer(ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(("127.0.0.1", 0), RelayHandler)


class RelayHandler(BaseRequestHandler):
    server: RelayServer

    def handle(self) -> None:
        with socket.socket(socket.AF_UNIX) as inner:
            inner.connect(str(self.server.path))
            back = Thread(target=pump, args=(inner, self.request), daemon=True)
            back.start()
            pump(self.request, inner)
            back.join()


@contextmanager
def relay(*paths: Path) -> Iterator[list[int]]:
    """Yields a port of 127.0.0.1 for each socket, until the block ends."""
    with ExitStack() as stack:
        ports = []
        for path in paths:
            server = stack.enter_context(RelayServer(path))
            Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            stack.callback(server.shutdown)
            ports.append(int(server.server_address[1]))
        yield ports
