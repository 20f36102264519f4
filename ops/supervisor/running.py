"""A complete Fieldflame, started as a user starts it, for benchmarks and for tests that kill its parts.

For measurements of statements there are its stores alone.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ops.supervisor.deadline import WHOLE_LIMIT_S
from ops.supervisor.environment import read_environment
from ops.supervisor.folder import DataFolder
from ops.supervisor.services import BASE_DIR, make_environment, make_manage_command, read_endpoint
from ops.supervisor.supervisor import Supervisor

START_LIMIT_S: Final = WHOLE_LIMIT_S * 2  # it gives up by itself when nothing moves
STOP_LIMIT_S: Final = 150.0  # more than the limits of all parts together
# Variables that would point the stack at servers, folders and addresses of someone else.
FOREIGN_NAMES: Final = (
    *("DATABASE_URL", "REDIS_URL", "PROMETHEUS_MULTIPROC_DIR"),
    *("FIELDFLAME_DATA", "FIELDFLAME_URL", "FIELDFLAME_PORT", "FIELDFLAME_HOST"),
)


class RunningStack:
    """A `manage.py up` in a process of its own, with the data folder, the address and commands against it."""

    def __init__(self, data: Path, environment: Mapping[str, str]) -> None:
        self.folder = DataFolder(data)
        self.port = find_free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = isolated_environment(environment)
        self.log = data.with_name(f"{data.name}-up.log")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *, with_demo: bool = False) -> None:
        """Starts everything, also again, and waits until it is ready. Raises `RuntimeError` with its output if not."""
        arguments = ["up", "--data", str(self.folder.path), "--port", str(self.port)]
        arguments += [] if with_demo else ["--no-demo"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                make_manage_command(*arguments), env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + START_LIMIT_S
        while "Fieldflame is ready" not in self.read_output():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Fieldflame did not start: {self.read_output()}")
            time.sleep(0.1)

    def read_output(self) -> str:
        """Returns the output of the last start so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def is_running(self) -> bool:
        """Returns whether the supervisor runs."""
        return self.process is not None and self.process.poll() is None

    def stop(self) -> int | None:
        """Stops everything in order; returns the exit code."""
        if self.process is None:
            return None
        if self.is_running():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode

    @property
    def store_environment(self) -> dict[str, str]:
        """The environment of commands, with the addresses of the running stores."""
        return {**self.environment, **read_environment(self.folder), "FIELDFLAME_DATA": str(self.folder.path)}

    def manage(self, *arguments: str) -> str:
        """Runs a management command against this stack; returns its output."""
        done = subprocess.run(
            make_manage_command(*arguments), env=self.store_environment, cwd=BASE_DIR, capture_output=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{arguments[0]} failed: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode()

    @property
    def login(self) -> tuple[str, str]:
        """The name and password of the first user."""
        return "admin", self.folder.admin_password.read_text().strip()

    def create_token(self, slug: str) -> str:
        """Returns a token of the read API for a project."""
        token: str = json.loads(self.manage("create_token", "--project", slug))["token"]
        return token

    def create_project(self, slug: str) -> str:
        """Creates a project whose key is its slug; returns a token of the read API."""
        self.manage("create_project", slug, "--key", slug, "--origin", "*")
        return self.create_token(slug)

    def read(self, slug: str, token: str, what: str) -> dict[str, Any]:
        """Returns a JSON answer of the read API, such as `status`."""
        request = urllib.request.Request(f"{self.url}/api/v1/projects/{slug}/{what}")  # noqa: S310  # our own
        request.add_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            answer: dict[str, Any] = json.load(response)
        return answer

    def wait_until_folded(self, projects: Mapping[str, str], limit_s: float = 120.0, pause_s: float = 0.1) -> None:
        """Waits until nothing is pending in projects (slug → token), and asks so often. Raises `TimeoutError`."""
        deadline = time.monotonic() + limit_s
        while any(self.read(slug, token, "status")["pending"] for slug, token in projects.items()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"traces are still pending after {limit_s} s")
            time.sleep(pause_s)

    def is_ready(self) -> bool:
        """Returns whether `/readyz` answers that all parts are ready."""
        return read_endpoint(f"{self.url}/readyz")[0] == 200


def isolated_environment(more: Mapping[str, str]) -> dict[str, str]:
    """Returns this process's environment with `more`, and without variables that name other servers."""
    return {**{name: value for name, value in os.environ.items() if name not in FOREIGN_NAMES}, **more}


def find_free_port() -> int:
    """Returns a port on which no one listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def run_stack(environment: Mapping[str, str] | None = None, *, with_demo: bool = False) -> Iterator[RunningStack]:
    """Runs a stack in a fresh folder that is removed at the end."""
    path = Path(tempfile.mkdtemp(prefix="fieldflame-run-"))
    stack = RunningStack(path / "var", environment or {})
    try:
        stack.start(with_demo=with_demo)
        yield stack
    finally:
        stack.stop()
        shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class TemporaryStores:
    """PostgreSQL and Valkey alone, as `./run` sets them up, with the schema."""

    folder: DataFolder
    environment: dict[str, str]

    def manage(self, *arguments: str) -> str:
        """Returns what a command of `manage.py` prints. Raises `CalledProcessError`."""
        command = make_manage_command(*arguments)
        done = subprocess.run(
            command, env=self.environment, cwd=BASE_DIR, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout


@contextmanager
def open_temporary_stores(name: str) -> Iterator[TemporaryStores]:
    """Starts stores in a fresh folder, and deletes them at the end."""
    path = Path(tempfile.mkdtemp(prefix=f"fieldflame-{name}-"))
    supervisor = Supervisor(DataFolder(path.resolve()), holder="benchmarks")
    supervisor.is_quiet = True
    try:
        supervisor.folder.create()
        supervisor.take_folder()
        environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        addresses = supervisor.start_stores(environment)
        environment = make_environment(supervisor.folder, host="127.0.0.1", port=0, extra=addresses)
        stores = TemporaryStores(supervisor.folder, environment)
        stores.manage("migrate", "--verbosity", "0")
        yield stores
    finally:
        supervisor.stop()
        shutil.rmtree(path, ignore_errors=True)
