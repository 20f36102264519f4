"""The release before this one, taken from git, and its processes against a database of the tests."""

import io
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from config.up.parts import BASE_DIR, READY_FILE_NAME, read_endpoint
from config.up.running import find_free_port

# What counts as the release before, as long as there is no tag. Name a newer one when one is installed anywhere.
PREVIOUS: Final = "1c91651252"
# The last one that kept hotspots in rows.
WITH_ROWS: Final = "e1d2fc0432"
LIMIT_S: Final = 240.0


def find_previous() -> str:
    """Returns the newest tag, or else the commit that is named here."""
    done = _git("describe", "--tags", "--abbrev=0", "--match", "v*")
    return done.stdout.decode().strip() if done.returncode == 0 else PREVIOUS


def export_tree(commit: str, folder: Path) -> str | None:
    """Writes a commit's files into a folder. Returns why it cannot, in a clone without it, else None."""
    done = _git("archive", "--format=tar", commit)
    if done.returncode != 0:
        return f"the history of this clone does not have {commit}: fetch it all (git fetch --unshallow)"
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return None


def _git(*words: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(["git", *words], cwd=BASE_DIR, capture_output=True, check=False)


class Release:
    """The files of a release, and its processes with the stores of the tests."""

    def __init__(self, root: Path, environment: Mapping[str, str], data: Path) -> None:
        self.root, self.data = root, data
        data.mkdir()
        self.environment = {
            **{name: value for name, value in environment.items() if name != "PYTHONPATH"},
            "FIELDFLAME_DATA": str(data),
            "FIELDFLAME_STATIC_ROOT": str(data / "static"),
            "FIELDFLAME_SECRET_KEY": "of all releases here" * 3,
            "PROMETHEUS_MULTIPROC_DIR": str(data),
            "FIELDFLAME_KERNEL": "pure",
        }

    @property
    def store_environment(self) -> dict[str, str]:
        """The environment of commands."""
        return self.environment

    def manage(self, *words: str) -> str:
        """Runs a management command; returns its output. Raises RuntimeError."""
        command = [sys.executable, "manage.py", *words]
        done = subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{words} failed: {done.stderr.decode(errors='replace')[-2000:]}")
        return done.stdout.decode()

    @contextmanager
    def run_web(self) -> Iterator[int]:
        """Runs a web server; gives its port once it answers."""
        port = find_free_port()
        command = ["-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port), "--no-ws"]
        command += ["--workers", "1", "--blocking-threads", "8", "config.wsgi:application"]
        with self._run("web", command) as process:
            _wait(lambda: read_endpoint(f"http://127.0.0.1:{port}/healthz")[0] == 200, process, self.data / "web.log")
            yield port

    @contextmanager
    def run_worker(self) -> Iterator[None]:
        """Runs a worker with one process, and beat; waits until the worker listens."""
        ready = self.data / "ready"
        ready.unlink(missing_ok=True)
        celery = ["-m", "celery", "--skip-checks", "--app", "config"]
        worker = [*celery, "worker", "--concurrency", "1", "--without-gossip", "--without-mingle"]
        beat = [*celery, "beat", "--schedule", str(self.data / "beat"), "--pidfile", ""]
        with ExitStack() as stack:
            process = stack.enter_context(self._run("worker", worker, {READY_FILE_NAME: str(ready)}))
            stack.enter_context(self._run("beat", beat))
            _wait(ready.exists, process, self.data / "worker.log")
            yield

    @contextmanager
    def _run(
        self, name: str, words: list[str], more: Mapping[str, str] | None = None
    ) -> Iterator["subprocess.Popen[bytes]"]:
        with (self.data / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *words],
                cwd=self.root,
                env={**self.environment, **(more or {})},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(LIMIT_S)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


def _wait(is_so: Callable[[], bool], process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{log.stem} did not start: {log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.05)
