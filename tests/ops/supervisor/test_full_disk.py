"""A full disk: the endpoint refuses in time, and loses nothing that it has accepted."""

import http.client
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from ops.supervisor.folder import DataFolder
from tests.ops.supervisor.running import Running, make_envelope, run_manage

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounts a small disk"),
    pytest.mark.stack,
    pytest.mark.kills,  # PostgreSQL ends itself when its disk is full
    pytest.mark.slow(40),
]
DISK_MB = 700
RESERVE_MB = 100
MB = 1_000_000
WAIT_LIMIT_S = 300.0
FOLDED = 1


@pytest.fixture(scope="module")
def disk() -> Iterator[Path]:
    """A small disk in memory, for both tests: a first start takes long."""
    path = Path(tempfile.mkdtemp(prefix="fieldflame-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0711", "tmpfs", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        path.rmdir()
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    yield path
    DataFolder(path / "var").remove_outside_sockets()
    subprocess.run(["umount", "--lazy", str(path)], check=True)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def fieldflame(disk: Path) -> Iterator[Running]:
    running = Running(disk / "var")
    running.log = running.log.with_name("up.log")
    yield running
    running.stop()


def start(running: Running, reserve_mb: int) -> None:
    """Starts with another reserve, and with a project whose key is `shop`."""
    running.stop()
    running.environment["FIELDFLAME_MIN_FREE_BYTES"] = str(reserve_mb * MB)
    running.start()
    run_manage("create_project", "shop", "--key", "shop", "--origin", "*", data=running.folder.path)


def fill(disk: Path, left_mb: int) -> Path:
    """Fills the disk except for some megabytes; returns the file that does."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        while shutil.disk_usage(disk).free > left_mb * MB:
            file.write(bytes(min(MB, shutil.disk_usage(disk).free - left_mb * MB + 4_096)))
            file.flush()
    return ballast


def post(running: Running, view_id: UUID, *, weight_kb: int = 0) -> tuple[int, dict[str, Any]]:
    """Posts one trace, with names that no gzip makes smaller; returns status and answer, 0 if there was none."""
    envelope = make_envelope(view_id)
    for n in range(weight_kb):
        envelope["trace"]["frames"].append({"name": f"{n}{secrets.token_hex(500)}"})
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    try:
        connection.request("POST", "/ingest/v1/traces?key=shop", json.dumps(envelope), {"Content-Type": "text/plain"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")
    except (OSError, http.client.HTTPException):
        return 0, {}
    finally:
        connection.close()


def post_until(running: Running, status: int) -> dict[str, Any]:
    """Posts traces until one is answered so; returns that answer."""
    deadline = time.monotonic() + WAIT_LIMIT_S
    while (answer := post(running, uuid4()))[0] != status:
        assert time.monotonic() < deadline, f"no {status}, but {answer}\n{running.read_output()}"
        time.sleep(0.2)
    return answer[1]


def test_the_endpoint_closes_before_the_disk_is_full_and_opens_again(disk: Path, fieldflame: Running) -> None:
    start(fieldflame, RESERVE_MB)
    post_until(fieldflame, 202)
    ballast = fill(disk, RESERVE_MB // 2)
    refused = post_until(fieldflame, 503)
    assert refused["reason"] == "unavailable"
    assert "no room" in refused["detail"]
    ballast.unlink()
    post_until(fieldflame, 202)


def test_a_full_disk_loses_nothing_that_was_accepted(disk: Path, fieldflame: Running) -> None:
    start(fieldflame, 0)
    post_until(fieldflame, 202)
    ballast = fill(disk, 12)
    accepted: list[UUID] = []
    refused = 0
    while refused < 5:
        view_id = uuid4()
        status, answer = post(fieldflame, view_id, weight_kb=200)
        assert status in (0, 202, 503), answer
        accepted += [view_id] if status == 202 else []
        refused += status != 202
        assert len(accepted) < 1_000, "the disk was never full"
    assert "No space left on device" in (fieldflame.folder.path / "logs" / "postgres.log").read_text(errors="replace")
    ballast.unlink()
    post_until(fieldflame, 202)

    def are_folded() -> bool:
        try:
            states = fieldflame.read_states()
        except psycopg.Error:
            return False
        return all(states.get(view_id) == FOLDED for view_id in accepted)

    fieldflame.wait_until(are_folded, "all accepted traces are folded", WAIT_LIMIT_S)
    assert len(accepted) >= 5
