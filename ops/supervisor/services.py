"""Fieldflame's own processes: the web server, the worker and beat, and the checks whether they are ready."""

import http.client
import json
import os
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from ops.supervisor.children import Child
from ops.supervisor.folder import DataFolder
from ops.supervisor.forking import M_ARENA_MAX, M_MMAP_THRESHOLD
from ops.supervisor.messages import StartError
from ops.supervisor.open_files import allow_connections

BASE_DIR = Path(__file__).resolve().parent.parent.parent
WEB_PROCESSES_NAME = "FIELDFLAME_WEB_PROCESSES"
WEB_THREADS_NAME = "FIELDFLAME_WEB_THREADS"
WEB_CONNECTIONS_NAME = "FIELDFLAME_WEB_CONNECTIONS"
WEB_HEADER_WAIT_NAME = "FIELDFLAME_WEB_HEADER_WAIT_MS"
# Open connections of a web process, at most. An idle one takes some kB. More wait until one of them ends.
WEB_CONNECTIONS = 2_000
# For a request's header, and for the next request on a connection that is kept. Browsers send a header at once.
WEB_HEADER_WAIT_MS = 10_000
WEB_MAX_MB_NAME = "FIELDFLAME_WEB_MAX_MB"
# MiB of a web process. One that has more is replaced by a new one, after it has answered; looked at every 30 s. After
# many heavy reads a process keeps about 400 (docs/benchmarks.md).
WEB_MAX_MB = 700
# Of the C library's allocator. It makes up to eight arenas per core, and each keeps what our 64 threads free in it. It
# also raises the size from which memory goes back to the system at once: that stays at 128 KiB.
MALLOC = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "131072"}
MALLOPT = {M_ARENA_MAX: 2, M_MMAP_THRESHOLD: 131_072}  # the same, for forks of this process


# The worker makes this file when it listens (config.celery). A monitor's question has to wait for an answer that may
# never come, so it is a slow way to learn that.
READY_FILE_NAME = "WORKER_READY_FILE"


def make_manage_command(*arguments: str) -> list[str]:
    return [sys.executable, str(BASE_DIR / "manage.py"), *arguments]


def make_web_child(folder: DataFolder, environment: Mapping[str, str], *, host: str, port: int) -> Child:
    processes, threads = environment.get(WEB_PROCESSES_NAME, "2"), environment.get(WEB_THREADS_NAME, "64")
    connections = read_count(environment, WEB_CONNECTIONS_NAME, WEB_CONNECTIONS)
    header_wait_ms = read_count(environment, WEB_HEADER_WAIT_NAME, WEB_HEADER_WAIT_MS)
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--host", host, "--port", str(port)]
    command += ["--workers", processes, "--blocking-threads", threads, "--no-ws", "--respawn-failed-workers"]
    # What granian calls backpressure is the number of open connections of a process. HTTP/1 only: with both versions a
    # connection that sends nothing is kept for ever, and one connection of HTTP/2 could hold all threads.
    command += ["--http", "1", "--backlog", "1024", "--backpressure", str(connections)]
    command += ["--http1-header-read-timeout", str(header_wait_ms)]
    command += ["--workers-max-rss", str(read_count(environment, WEB_MAX_MB_NAME, WEB_MAX_MB))]
    command += ["--log-config", "ops/telemetry/granian.json"]  # below the project's folder, which is theirs
    command += ["--workers-kill-timeout", "5", "config.wsgi:application"]
    counts = clear_counts(folder)
    environment = {"PROMETHEUS_MULTIPROC_DIR": str(counts), **MALLOC, **environment}
    return Child(
        name="web",
        is_python=True,
        title="The web server",
        command=command,
        environment=environment,
        log=folder.logs / "web.log",
        cwd=BASE_DIR,
        stop_limit_s=10.0,
        enter=allow_connections(connections, WEB_CONNECTIONS_NAME),
    )


def clear_counts(folder: DataFolder) -> Path:
    """Returns the folder where processes sum up their counts (ops.telemetry.counts), emptied of a former run's."""
    counts = folder.path / "metrics"
    counts.mkdir(exist_ok=True)
    for file in counts.glob("*.db"):
        file.unlink()
    return counts


def read_count(environment: Mapping[str, str], name: str, default: int) -> int:
    """Returns a number of at least 1 from the environment. Raises StartError with the variable's name."""
    text = environment.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise StartError(f"{name} must be a whole number of at least 1, not {text!r}.")
    return int(text)


def make_worker_child(folder: DataFolder, environment: Mapping[str, str]) -> Child:
    return Child(
        name="worker",
        is_python=True,
        title="The worker",
        command=[sys.executable, "-m", "ops.celery_program", "worker"],
        environment={**environment, READY_FILE_NAME: str(folder.worker_ready)},
        log=folder.logs / "worker.log",
        cwd=BASE_DIR,
        before_start=lambda: folder.worker_ready.unlink(missing_ok=True),
        stop_signal=signal.SIGTERM,  # Celery's warm stop: the current fold is finished
        stop_limit_s=30.0,
    )


def make_beat_child(folder: DataFolder, environment: Mapping[str, str]) -> Child:
    return Child(
        name="beat",
        is_python=True,
        title="Beat",
        command=[sys.executable, "-m", "ops.celery_program", "beat", "--schedule", str(folder.beat_schedule)],
        environment=environment,
        log=folder.logs / "beat.log",
        cwd=BASE_DIR,
    )


def make_demo_child(folder: DataFolder, environment: Mapping[str, str], *, url: str) -> Child:
    return Child(
        name="demo",
        is_python=True,
        title="Loading the samples",
        command=make_manage_command("load_demo"),
        environment=environment,
        log=folder.logs / "demo.log",
        cwd=BASE_DIR,
        foreground=True,
    )


def make_prepare_child(folder: DataFolder, environment: Mapping[str, str], *, result: Path) -> Child:
    return Child(
        name="prepare",
        is_python=True,
        title="Preparing the database",
        command=make_manage_command("prepare", "--result", str(result)),
        environment=environment,
        log=folder.logs / "prepare.log",
        cwd=BASE_DIR,
    )


def read_endpoint(url: str, limit_s: float = 5.0) -> tuple[int, dict[str, object]]:
    """Returns (status, JSON body) of a GET; status 0 if no one answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=limit_s) as response:
            return response.status, parse_object(response.read())
    except urllib.error.HTTPError as error:
        return error.code, parse_object(error.read())
    except (OSError, http.client.HTTPException):
        return 0, {}


def parse_object(body: bytes) -> dict[str, object]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def make_environment(folder: DataFolder, *, host: str, port: int, extra: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of every child: the caller's own, with the values of `up`."""
    environment = dict(os.environ)
    environment.update(extra)
    environment["FIELDFLAME_DATA"] = str(folder.path)
    environment["DJANGO_SETTINGS_MODULE"] = environment.get("DJANGO_SETTINGS_MODULE", "config.settings")
    environment["PYTHONUNBUFFERED"] = "1"  # a log should show the last lines before a death
    if "FIELDFLAME_ALLOWED_HOSTS" not in environment:
        environment["FIELDFLAME_ALLOWED_HOSTS"] = ",".join(name_hosts(host))
    return environment


def name_hosts(host: str) -> list[str]:
    """Returns the host names under which a browser may call a server that listens on `host`.

    A server that listens on every address may be called by any of them, and by names that only its network knows.
    """
    if host in ("0.0.0.0", "::", ""):  # noqa: S104  # compared with, not listened on
        return ["*"]
    names = ["127.0.0.1", "localhost", "[::1]"]
    name = f"[{host}]" if ":" in host else host
    return names if name in names else [*names, name]
