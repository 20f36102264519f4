"""The whole of Fieldflame as `./run` starts it, in a fresh data folder, with servers of its own; gone at the end."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.up.folder import DataFolder

ROOT = Path(__file__).resolve().parent.parent.parent
READY_WORDS = "Fieldflame is ready"
START_LIMIT_S = 180.0  # a fresh database, migrations and the samples of the demo, on a machine that other tests load
STOP_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Stack:
    """A running Fieldflame: where it is, and who may log in."""

    url: str
    folder: DataFolder
    environment: dict[str, str]

    @property
    def login(self) -> tuple[str, str]:
        return "admin", self.folder.admin_password.read_text().strip()

    def run_command(self, *words: str) -> Any:  # Any: the commands print JSON objects of different shapes
        """Runs `./run WORDS` against the running servers and returns the JSON object it prints."""
        command = [sys.executable, "manage.py", *words]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, check=True, capture_output=True, timeout=120)
        return json.loads(done.stdout)

    def read_api(self, path: str, token: str) -> Any:  # Any: as above
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(what: str, limit_s: float, is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + limit_s
    while not is_done():
        assert time.monotonic() < end, f"not within {limit_s:.0f} s: {what}"
        time.sleep(0.1)


@contextmanager
def run_stack() -> Iterator[Stack]:
    # Not below pytest's own folder, which only its user may enter: PostgreSQL may have to run as another one.
    path = Path(tempfile.mkdtemp(prefix="fieldflame-e2e-")).resolve()
    port = find_free_port()
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    environment = {name: value for name, value in environment.items() if not name.startswith("FIELDFLAME_")}
    environment |= {"FIELDFLAME_DATA": str(path), "PYTHONUNBUFFERED": "1"}
    log = path.with_suffix(".log")
    with log.open("w") as output:
        words = [sys.executable, "manage.py", "up", "--port", str(port)]
        process = subprocess.Popen(words, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:

        def is_ready() -> bool:
            assert process.poll() is None, f"it ended, saying: {log.read_text()}"
            return READY_WORDS in log.read_text()

        wait_until(f"{READY_WORDS}, see {log}", START_LIMIT_S, is_ready)
        yield Stack(f"http://127.0.0.1:{port}", DataFolder(path), environment)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_LIMIT_S)
        finally:
            shutil.rmtree(path, ignore_errors=True)
    assert process.returncode == 0, log.read_text()
    log.unlink()
