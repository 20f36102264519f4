"""`up` with real servers: it starts, survives the death of any part and of all of it, and stops in order."""

import os
import re
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.up.folder import DataFolder
from config.up.proc import is_running, send_signal
from config.up.running import find_free_port
from tests.up.running import Running, run_manage

pytestmark = pytest.mark.slow
PARTS = {
    "web": "granian",
    "worker": "--app config worker",
    "beat": "--app config beat",
    "valkey": "valkey-server",
    "postgres": "/bin/postgres",
}
NOT_HERE_URL = "postgresql://someone:secret@127.0.0.1:1/nothing"


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """One data folder for the tests of this file, which leave it whole: a first start is the slow part."""
    parent = Path(tempfile.mkdtemp(prefix="fieldflame-up-"))
    yield parent / "var"
    shutil.rmtree(parent, ignore_errors=True)


@pytest.fixture(scope="module")
def started(data: Path) -> Iterator[list[Running]]:
    """What was started in this file; the last one may still run."""
    all_started: list[Running] = []
    yield all_started
    if all_started:
        all_started[-1].stop()


@pytest.fixture
def running(data: Path, started: list[Running]) -> Running:
    """Fieldflame with a project `shop` whose key is `shop`; the one of the test before, if that left it running."""
    if started and started[-1].process.poll() is None:
        return started[-1]
    one = Running(data, find_free_port())
    started.append(one)
    one.wait_until_started()
    if not (data / "has_shop").exists():
        made = run_manage("create_project", "shop", "--key", "shop", "--origin", "*", data=data)
        assert made.returncode == 0, made.stderr
        assert made.stdout.strip() == '{"slug": "shop", "key": "shop"}'
        (data / "has_shop").touch()
    return one


@pytest.fixture
def stopped(data: Path, started: list[Running]) -> Path:
    """The data folder, with nothing running in it."""
    if started:
        started[-1].stop()
    return data


def test_it_says_where_to_look_and_stops_in_order_leaving_nothing(running: Running) -> None:
    text = running.read_output()
    assert f"Dashboard   {running.url}/" in text
    assert re.search(r"Login +admin +password +\S{12,}", text)
    assert running.is_ready()
    assert running.stop() == 0
    assert running.read_output().rstrip().endswith("Stopped.")
    assert running.find_all() == []
    assert not running.folder.environment.exists()
    log = (running.folder.logs / "postgres.log").read_text(encoding="utf-8")
    assert "database system is shut down" in log


def test_every_part_is_started_again_after_it_was_killed(running: Running) -> None:
    for name, word in PARTS.items():
        process = running.find_child(word)
        send_signal(process, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while is_running(process) or not (running.is_ready() and has_child(running, word)):
            assert time.monotonic() < deadline, f"{name} did not come back:\n{running.read_output()}"
            time.sleep(0.1)
        assert running.find_child(word) != process
    view_id = running.post_trace("shop")
    running.wait_until(lambda: running.read_states()[view_id] == 1, "the trace is folded", 30)


def has_child(running: Running, word: str) -> bool:
    try:
        running.find_child(word)
    except AssertionError:
        return False
    return True


def test_after_a_kill_of_everything_the_next_start_has_what_was_accepted(
    running: Running, started: list[Running]
) -> None:
    accepted = {running.post_trace("shop") for _ in range(20)}
    every = running.find_all()
    assert len(every) > len(PARTS)
    os.kill(running.process.pid, signal.SIGKILL)
    for process in every:
        send_signal(process, signal.SIGKILL)
    running.process.wait()
    again = start_again(running, started)
    assert accepted <= set(again.read_states())
    again.wait_until(lambda: all(again.read_states()[one] == 1 for one in accepted), "all is folded", 60)


def test_after_a_kill_of_the_supervisor_alone_the_next_start_takes_over(
    running: Running, started: list[Running]
) -> None:
    accepted = running.post_trace("shop")
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait()
    again = start_again(running, started)
    assert accepted in again.read_states()
    assert again.stop() == 0
    assert again.find_all() == []


def start_again(running: Running, started: list[Running]) -> Running:
    again = Running(running.folder.path, running.port)
    started.append(again)
    again.wait_until_started()
    return again


def test_a_second_start_in_the_same_folder_is_refused(running: Running) -> None:
    second = run_manage("up", "--port", str(find_free_port()), data=running.folder.path)
    assert second.returncode == 1
    expected = f"Fieldflame: Fieldflame already runs in {running.folder.path} (process {running.process.pid}).\n"
    assert second.stderr == expected
    assert running.is_ready()


def test_a_command_uses_the_running_servers(running: Running) -> None:
    shown = run_manage("shell", "-c", "print(__import__('os').environ['DATABASE_URL'])", data=running.folder.path)
    assert shown.returncode == 0, shown.stderr
    assert str(running.folder.path) in shown.stdout
    assert running.is_ready()


def test_a_command_starts_servers_of_its_own_where_none_run(stopped: Path) -> None:
    created = run_manage("create_project", "other", "--key", "other", "--origin", "*", data=stopped)
    assert (created.returncode, created.stdout) == (0, '{"slug": "other", "key": "other"}\n'), created.stderr
    assert not DataFolder(stopped).environment.exists()
    again = run_manage("create_project", "other", "--key", "other", "--origin", "*", data=stopped)
    assert again.returncode != 0  # it is there: the first command's servers kept it


def test_a_taken_port_is_told_in_one_sentence(stopped: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        refused = run_manage("up", "--port", str(port), data=stopped)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"Fieldflame: Port {port} on 127.0.0.1 is taken by another program")
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "url"), [("DATABASE_URL", NOT_HERE_URL), ("REDIS_URL", "redis://:secret@127.0.0.1:1/0")]
)
def test_a_given_server_that_cannot_be_reached_is_told_in_one_sentence(stopped: Path, name: str, url: str) -> None:
    refused = run_manage("up", "--port", str(find_free_port()), data=stopped, **{name: url})
    assert refused.returncode == 1
    assert f"server that {name} names cannot be used: " in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert "secret" not in refused.stderr


def test_data_of_another_version_is_told_in_one_sentence(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "var")
    (folder.postgres / "global").mkdir(parents=True)
    (folder.postgres / "global" / "pg_control").touch()
    (folder.postgres / "PG_VERSION").write_text("9\n")
    refused = run_manage("up", "--port", str(find_free_port()), data=folder.path)
    assert refused.returncode == 1
    assert "is of PostgreSQL 9, and only PostgreSQL" in refused.stderr
    assert refused.stderr.count("\n") == 1
