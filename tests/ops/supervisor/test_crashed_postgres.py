"""What a killed PostgreSQL leaves does not keep the next one from starting."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ops.supervisor.children import Child
from ops.supervisor.folder import DataFolder
from ops.supervisor.stores.postgres import Postgres, make_postgres_child, set_up_postgres, wait_for_postgres

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"), pytest.mark.kills]


@pytest.fixture
def postgres(tmp_path: Path) -> Postgres:
    folder = DataFolder(tmp_path / "var")
    folder.create()
    return set_up_postgres(folder, is_root=os.geteuid() == 0, is_throw_away=True)


@pytest.fixture
def child(postgres: Postgres) -> Iterator[Child]:
    child = make_postgres_child(postgres, dict(os.environ), is_throw_away=True)
    yield child
    child.stop(lambda: False)


@pytest.fixture
def stranger() -> Iterator[int]:
    """A process that happens to have the id of a former server, as in a container after a restart."""
    with subprocess.Popen([sys.executable, "-c", "import time\ntime.sleep(60)"]) as process:
        yield process.pid
        process.kill()


def test_a_pid_file_whose_id_is_somebody_elses_by_now_is_not_in_the_way(
    postgres: Postgres, child: Child, stranger: int
) -> None:
    lines = [str(stranger), str(postgres.place.data), "1", "5432", str(postgres.sockets), "", "", "ready"]
    pid_file = postgres.place.data / "postmaster.pid"
    pid_file.write_text("\n".join(lines) + "\n")
    os.chown(pid_file, postgres.place.run_as.uid, postgres.place.run_as.gid)
    child.start()
    wait_for_postgres(postgres, child, lambda: None)
    os.kill(stranger, 0)  # it was left alone


def test_a_killed_server_comes_back_with_what_was_committed(postgres: Postgres, child: Child) -> None:
    child.start()
    wait_for_postgres(postgres, child, lambda: None)
    with psycopg.connect(postgres.connection_text("fieldflame"), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS one")
        assert child.identity is not None
        os.kill(child.identity.pid, signal.SIGKILL)
        deadline = time.monotonic() + 120
        lines: list[str] = []
        while not (lines and child.is_running()):
            line = child.revive(time.monotonic())
            lines += [line] if line else []
            assert time.monotonic() < deadline
            time.sleep(0.02)
    wait_for_postgres(postgres, child, lambda: None)
    with psycopg.connect(postgres.connection_text("fieldflame")) as connection:
        assert connection.execute("SELECT one FROM kept").fetchall() == [(1,)]
    assert lines == [f"PostgreSQL {postgres.major} was ended by SIGKILL; starting it again."]


def test_an_orphan_server_in_the_folder_is_stopped_before_another_starts(postgres: Postgres, child: Child) -> None:
    child.start()
    wait_for_postgres(postgres, child, lambda: None)
    second = make_postgres_child(postgres, dict(os.environ), is_throw_away=True)
    second.start()
    try:
        wait_for_postgres(postgres, second, lambda: None)
        assert not child.is_running()
    finally:
        assert second.stop(lambda: False)
    assert list(postgres.find_processes()) == []
