"""Receivers of messages in processes of their own: a web server that keeps all, and a mail server."""

import contextlib
import json
import multiprocessing
import socket
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

START_S: Final = 120.0
HANGS: Final = 0  # as a status: the receiver takes the message, and never answers


class Kept:
    """What arrived, one line of JSON each, and what is answered next: a file of statuses, the first line first."""

    def __init__(self, folder: Path) -> None:
        self.arrived, self.answers = folder / "arrived", folder / "answers"
        self.arrived.touch()
        self.answers.touch()

    def add(self, entry: dict[str, Any]) -> None:
        with self.arrived.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def list(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.arrived.read_text().splitlines()]

    def answer_with(self, *statuses: int) -> None:
        self.answers.write_text("".join(f"{status}\n" for status in statuses))

    def next_status(self) -> int:
        statuses = self.answers.read_text().split()
        self.answer_with(*map(int, statuses[1:]))
        return int(statuses[0]) if statuses else 200


@contextlib.contextmanager
def web_receiver(folder: Path) -> Iterator[tuple[str, Kept]]:
    """A web server on a free port; yields its address, and what arrives."""
    with _running(_serve_web, folder) as port:
        yield f"http://127.0.0.1:{port}/hook?key=s3cret", Kept(folder)


@contextlib.contextmanager
def mail_receiver(folder: Path) -> Iterator[tuple[int, Kept]]:
    """A mail server on a free port; yields that, and what arrives."""
    with _running(_serve_mail, folder) as port:
        yield port, Kept(folder)


@contextlib.contextmanager
def _running(serve: Any, folder: Path) -> Iterator[int]:
    folder.mkdir(parents=True, exist_ok=True)
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(str(folder), there), daemon=True)
    process.start()
    try:
        assert here.poll(START_S), "the receiver did not start"
        yield here.recv()
    finally:
        process.kill()
        process.join()


def _serve_web(folder: str, ready: Connection) -> None:
    kept = Kept(Path(folder))

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            kept.add({"path": self.path, "headers": headers, "body": body.decode()})
            status = kept.next_status()
            if status == HANGS:
                threading.Event().wait()
            self.send_response(status)
            if status in (301, 302, 307):
                self.send_header("Location", "/elsewhere")
            if status == 429:
                self.send_header("Retry-After", "7200")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    ready.send(server.server_address[1])
    server.serve_forever()


def _serve_mail(folder: str, ready: Connection) -> None:
    kept = Kept(Path(folder))

    class Mail(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.say("220 mail.example")
            to: list[str] = []
            while line := self.rfile.readline().decode().strip():
                match line.split(":")[0].upper().split():
                    case ["RCPT", "TO"]:
                        to.append(line.partition(":")[2].strip(" <>"))
                        self.say("250 ok")
                    case ["DATA"]:
                        self.say("354 go on")
                        self.take(to)
                    case ["QUIT"]:
                        self.say("221 bye")
                        return
                    case _:
                        self.say("250 ok")

        def take(self, to: list[str]) -> None:
            lines = []
            while (line := self.rfile.readline()) not in (b".\r\n", b""):
                lines.append(line.decode().removeprefix("."))
            kept.add({"to": to, "text": "".join(lines)})
            status = kept.next_status()
            self.say("250 kept" if status == 200 else f"{status} no")

        def say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mail)
    ready.send(server.server_address[1])
    server.serve_forever()


def closed_port() -> int:
    """Returns a port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
