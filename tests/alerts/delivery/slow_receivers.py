"""Receivers that answer slowly, or without an end: each connection is handled by a thread of the test."""

import contextlib
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

PAUSE_S: Final = 0.1
Handle = Callable[[socket.socket, threading.Event], None]


@contextlib.contextmanager
def slow_receiver(handle: Handle, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Runs a server that handles connections in this way, until the block is over; yields its port."""
    answer = handle
    is_over = threading.Event()

    class Receiver(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                wrapped = context.wrap_socket(self.request, server_side=True) if context else self.request
                with wrapped:
                    answer(wrapped, is_over)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """Says nothing."""

    with Server(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            is_over.set()
            server.shutdown()
            thread.join()


def drip(text: bytes) -> Handle:
    """Sends a byte now and then, from the beginning again when all were sent."""

    def handle(connection: socket.socket, is_over: threading.Event) -> None:
        place = 0
        while not is_over.wait(PAUSE_S):
            connection.sendall(text[place % len(text) :][:1])
            place += 1

    return handle


def repeat(text: bytes) -> Handle:
    """Sends the same text for ever, as fast as it is read."""

    def handle(connection: socket.socket, is_over: threading.Event) -> None:
        while not is_over.is_set():
            connection.sendall(text * 100)

    return handle


def answer_and_drip(text: bytes) -> Handle:
    """Answers, and then sends a body without an end."""

    def handle(connection: socket.socket, is_over: threading.Event) -> None:
        connection.recv(65_536)
        connection.sendall(text)
        while not is_over.wait(PAUSE_S):
            connection.sendall(b".")

    return handle


def speak_smtp(kept: list[bytes], *, rcpt_s: float = 0.0, refused: bytes = b"-", says_bye: bool = True) -> Handle:
    """Takes mails after a pause per address, and keeps them; addresses with some letters are refused."""

    def handle(connection: socket.socket, is_over: threading.Event) -> None:
        file = connection.makefile("rb")
        connection.sendall(b"220 mail.example\r\n")
        while line := file.readline():
            word = line.upper()
            if word.startswith(b"RCPT") and is_over.wait(rcpt_s):
                return
            if word.startswith(b"RCPT") and refused in line:
                connection.sendall(b"550 no such user\r\n")
            elif word.startswith(b"DATA"):
                connection.sendall(b"354 go on\r\n")
                kept.append(b"".join(iter(file.readline, b".\r\n")))
                connection.sendall(b"250 kept\r\n")
            elif word.startswith(b"QUIT") and not says_bye:
                is_over.wait()
                return
            else:
                connection.sendall(b"250 ok\r\n")

    return handle
