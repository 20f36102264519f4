"""A `manage.py up` of a test's own, in a fresh data folder, on a free port."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg

from config.up.environment import read_environment
from config.up.folder import DataFolder
from config.up.parts import BASE_DIR, read_endpoint
from config.up.proc import Process, list_processes

START_LIMIT_S = 120.0
COMMAND_LIMIT_S = 180.0
FORGOTTEN = ("DATABASE_URL", "REDIS_URL", "FIELDFLAME_DATA", "FIELDFLAME_URL", "PROMETHEUS_MULTIPROC_DIR")


def make_test_environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in FORGOTTEN}
    return {**kept, "FIELDFLAME_WORKER_PROCESSES": "1", "FIELDFLAME_WEB_PROCESSES": "1", **more}


def run_manage(*words: str, data: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BASE_DIR / "manage.py"), *words],
        env=make_test_environment(FIELDFLAME_DATA=str(data), **more),
        capture_output=True,
        text=True,
        timeout=COMMAND_LIMIT_S,
        check=False,
    )


class Running:
    """Fieldflame, running in `data` on `port`; its output is kept in a file beside."""

    def __init__(self, data: Path, port: int, *, with_demo: bool = False) -> None:
        self.folder = DataFolder(data)
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.output = data.with_name(f"{data.name}.out")
        command = [sys.executable, str(BASE_DIR / "manage.py"), "up", "--data", str(data), "--port", str(port)]
        command += [] if with_demo else ["--no-demo"]
        with self.output.open("w", encoding="utf-8") as output:
            self.process = subprocess.Popen(command, env=make_test_environment(), stdout=output, stderr=output)

    def read_output(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def wait_until(self, is_so: Callable[[], bool], what: str, limit_s: float = START_LIMIT_S) -> None:
        deadline = time.monotonic() + limit_s
        while not is_so():
            assert self.process.poll() is None, f"it ended, before {what}:\n{self.read_output()}"
            assert time.monotonic() < deadline, f"waited in vain: {what}\n{self.read_output()}"
            time.sleep(0.1)

    def wait_until_started(self) -> None:
        self.wait_until(lambda: "Fieldflame is ready" in self.read_output(), "it is started")

    def is_ready(self) -> bool:
        return read_endpoint(f"{self.url}/readyz")[0] == 200

    def find_child(self, word: str) -> Process:
        """Returns the recorded child whose command line holds `word`."""
        recorded = json.loads(self.folder.processes.read_text(encoding="utf-8"))["children"]
        for process in list_processes():
            if [process.pid, process.started_ticks] in recorded and word in read_command(process.pid):
                return process
        raise AssertionError(f"no child's command line holds {word!r}")

    def find_all(self) -> list[Process]:
        """Returns every process that has to do with this data folder: by its command line or its working folder."""
        text = str(self.folder.path)
        return [one for one in list_processes() if text in read_command(one.pid) or text in read_cwd(one.pid)]

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=90)

    def post_trace(self, key: str) -> UUID:
        """Posts one small trace and returns its view's id. Raises HTTPError where it was not accepted."""
        view_id = uuid4()
        request = urllib.request.Request(
            f"{self.url}/ingest/v1/traces?key={key}",
            data=gzip.compress(json.dumps(make_envelope(view_id)).encode()),
            headers={"Content-Type": "application/json", "Content-Encoding": "gzip"},
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            assert response.status == 202
        return view_id

    def read_states(self) -> dict[UUID, int]:
        """Returns each receipt's state by its view's id."""
        with psycopg.connect(read_environment(self.folder)["DATABASE_URL"]) as connection:
            return dict(connection.execute("SELECT view_id, state FROM ingest_receipt").fetchall())


def make_envelope(view_id: UUID) -> dict[str, Any]:
    now_ms = time.time() * 1000
    trace = {
        "frames": [{"name": "work", "resourceId": 0, "line": 1, "column": 1}],
        "resources": ["https://shop.example/app.js"],
        "samples": [{"stackId": 0, "timestamp": 10.0}, {"stackId": 0, "timestamp": 20.0}, {"timestamp": 30.0}],
        "stacks": [{"frameId": 0}],
    }
    return {
        "viewId": str(view_id),
        "seq": 0,
        "release": "1",
        "page": "/",
        "timeOrigin": now_ms - 1000,
        "sampleInterval": 10,
        "trace": trace,
    }


def read_command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def read_cwd(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""
