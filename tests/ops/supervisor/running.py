"""A small Fieldflame of a test's own, seen from outside: its processes and its receipts."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg

from ops.supervisor.environment import read_environment
from ops.supervisor.proc import Process, list_processes
from ops.supervisor.running import RunningStack, find_free_port, isolated_environment
from ops.supervisor.services import make_manage_command
from tests.acceptance.corpus_stack import post_until_accepted
from tests.runner.waiting import wait_until

COMMAND_LIMIT_S = 180.0
WAIT_LIMIT_S = 120.0
SMALL = {"FIELDFLAME_WORKER_PROCESSES": "1", "FIELDFLAME_WEB_PROCESSES": "1"}


def run_manage(*arguments: str, data: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a management command in a data folder, and returns its result even if it fails."""
    return subprocess.run(
        make_manage_command(*arguments),
        env=isolated_environment({**SMALL, "FIELDFLAME_DATA": str(data), **more}),
        capture_output=True,
        text=True,
        timeout=COMMAND_LIMIT_S,
        check=False,
    )


class Running(RunningStack):
    """Fieldflame with one process per part, in a data folder that is kept after it."""

    def __init__(self, data: Path) -> None:
        # Parts of their own hosts have them; here they show that a killed part gives its port back.
        self.part_ports = {"WORKER": find_free_port(), "BEAT": find_free_port()}
        ports = {f"FIELDFLAME_{part}_METRICS_PORT": str(port) for part, port in self.part_ports.items()}
        super().__init__(data, SMALL | ports)

    @property
    def pid(self) -> int:
        """The supervisor's process."""
        assert self.process is not None
        return self.process.pid

    def wait_until(self, is_so: Callable[[], bool], what: str, limit_s: float = WAIT_LIMIT_S) -> None:
        wait_until(
            is_so, lambda: f"waited in vain: {what}\n{self.read_output()}", limit_s=limit_s, is_alive=self.is_running
        )

    def kill(self) -> None:
        """Kills the supervisor with SIGKILL."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def find_child(self, word: str) -> Process:
        """Returns the recorded child whose command line contains `word`."""
        recorded = json.loads(self.folder.processes.read_text(encoding="utf-8"))["children"]
        for process in list_processes():
            if [process.pid, process.started_ticks] in recorded and word in read_command(process.pid):
                return process
        raise AssertionError(f"no child's command line holds {word!r}")

    def find_all(self) -> list[Process]:
        """Returns every process of this data folder, by its command line or its working folder."""
        return find_in(self.folder.path)

    def post_trace(self, key: str) -> UUID:
        """Posts one small trace, again as long as the endpoint asks for it, and returns its view's id."""
        view_id = uuid4()
        post_until_accepted(self.port, key, json.dumps(make_envelope(view_id)).encode())
        return view_id

    def read_states(self) -> dict[UUID, int]:
        """Returns each receipt's state by its view's id."""
        with psycopg.connect(read_environment(self.folder)["DATABASE_URL"]) as connection:
            return dict(connection.execute("SELECT view_id, state FROM ingest_tracereceipt").fetchall())


def find_in(folder: Path) -> list[Process]:
    """Returns every process of a data folder, by its command line or its working folder."""
    text = str(folder)
    return [one for one in list_processes() if text in read_command(one.pid) or text in read_cwd(one.pid)]


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
