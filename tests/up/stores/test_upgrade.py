"""`./run upgrade_postgres`: the data of an older major version, with the same rows, and safe when it is interrupted."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

import pytest

from config.up.folder import DataFolder, FolderLock
from config.up.messages import StartError
from config.up.parts import make_manage_command
from config.up.running import own_environment
from config.up.stores import upgrading
from config.up.stores.binaries import PostgresBinaries, read_data_major
from config.up.stores.contents import TableSum, describe_difference
from config.up.stores.exchange import VERIFIED, exchange, finish_exchange
from config.up.supervisor import Supervisor
from tests.up.running import SMALL, find_in, run_manage
from tests.up.stores.older_data import OLDER, make_older_data

pytestmark = [pytest.mark.slow(30), pytest.mark.stack]

NEWEST: Final = 18
WAIT_S: Final = 300


# The moments at which the command is killed, as the folders show them.
MOMENTS: Final = (
    ("postgres.upgraded.new", signal.SIGKILL),
    ("postgres.upgraded/pg_upgrade_output.d", signal.SIGKILL),
    ("postgres.upgraded/postmaster.pid", signal.SIGTERM),
)


def read_all(folder: DataFolder) -> str:
    """Returns the projects and a setting of PostgreSQL."""
    asked = (
        "from django.db import connection as c; from ingest.models import Project; k = c.cursor(); "
        "k.execute('SHOW work_mem'); print(*Project.objects.values_list('slug', flat=True), *k.fetchone())"
    )
    return run_manage("shell", "-c", asked, data=folder.path).stdout.splitlines()[-1]


def kill_at(folder: DataFolder, name: str, number: signal.Signals) -> None:
    """Starts the command, and kills it once there is a file or folder of this name."""
    log = folder.logs / "killed.log"
    with log.open("wb") as file:
        command = subprocess.Popen(
            make_manage_command("upgrade_postgres"),
            env=own_environment({**SMALL, "FIELDFLAME_DATA": str(folder.path)}),
            stdout=file,
            stderr=file,
        )
    deadline = time.monotonic() + WAIT_S
    while not (folder.path / name).exists():
        assert command.poll() is None, log.read_text()
        assert time.monotonic() < deadline, name
    command.send_signal(number)
    assert command.wait(WAIT_S) == (130 if number == signal.SIGTERM else -number), log.read_text()
    assert read_data_major(folder.postgres) == OLDER


@pytest.mark.kills
def test_older_data_comes_to_the_newest_version_also_after_kills_with_the_same_rows_and_settings(
    passable: Path,
) -> None:
    folder = make_older_data(passable / "var")
    assert run_manage("create_project", "shop", data=folder.path).returncode == 0
    with (folder.postgres / "postgresql.conf").open("a") as file:
        file.write("work_mem = 5MB\n")
    for name, number in MOMENTS:
        kill_at(folder, name, number)
    done = run_manage("upgrade_postgres", data=folder.path)
    assert done.returncode == 0, done.stderr
    assert f"The data is now of PostgreSQL {NEWEST}" in done.stdout
    kept = folder.path / f"postgres.old-{OLDER}"
    assert (read_data_major(folder.postgres), read_data_major(kept)) == (NEWEST, OLDER)
    assert read_all(folder) == "shop 5MB"
    again = run_manage("upgrade_postgres", data=folder.path)
    assert (again.returncode, "there is nothing to do" in again.stdout) == (0, True)
    removed = run_manage("upgrade_postgres", "--remove-old", data=folder.path)
    assert removed.returncode == 0, removed.stderr
    assert sorted(path.name for path in folder.path.glob("postgres*")) == ["postgres"]
    assert find_in(folder.path) == []


def test_an_older_version_that_can_be_upgraded_is_named_when_it_starts(
    passable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = make_older_data(passable / "var")
    said: list[str] = []
    supervisor = Supervisor(older, holder="test")
    monkeypatch.setattr(supervisor, "say", said.append)
    supervisor.take_folder()
    try:
        supervisor.start_stores({name: value for name, value in os.environ.items() if not name.endswith("_URL")})
    finally:
        supervisor.stop()
    assert [line for line in said if "upgrade_postgres" in line] == [
        f"  PostgreSQL {NEWEST} is here too. To take the data to it, stop Fieldflame, and give: ./run upgrade_postgres"
    ]


# --- what is refused, and in which words ---


def test_nothing_is_upgraded_while_fieldflame_runs(passable: Path) -> None:
    folder = DataFolder(passable / "var")
    folder.create()
    lock = FolderLock(folder, "up")
    assert lock.try_acquire()
    refused = run_manage("upgrade_postgres", data=folder.path)
    lock.release()
    assert (refused.returncode, f"already runs in {folder.path}" in refused.stderr) == (1, True), refused.stderr


def test_nothing_is_upgraded_where_there_is_no_data_of_our_own(passable: Path) -> None:
    refused = run_manage("upgrade_postgres", data=passable / "var", DATABASE_URL="postgresql://a@127.0.0.1:1/b")
    assert (refused.returncode, "DATABASE_URL names" in refused.stderr) == (1, True)
    refused = run_manage("upgrade_postgres", data=passable / "var")
    assert (refused.returncode, "There is no PostgreSQL data in" in refused.stderr) == (1, True)


def make_data(path: Path, version: str) -> Path:
    (path / "global").mkdir(parents=True)
    (path / "global" / "pg_control").write_bytes(b"\0")
    (path / "PG_VERSION").write_text(version)
    return path


def make_programs(folder: Path, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    return folder


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    data = make_data(tmp_path / "postgres", "17\n")
    new = PostgresBinaries(18, make_programs(tmp_path / "18", *upgrading.NEW_PROGRAMS))
    half = PostgresBinaries(17, make_programs(tmp_path / "17", "postgres", "initdb", "pg_ctl"))
    bare = PostgresBinaries(18, make_programs(tmp_path / "bare", "postgres"))
    for words, found in (
        (r"of PostgreSQL 17, and its programs are not installed.* package postgresql-17\) beside PostgreSQL 18", [new]),
        (r"its programs in .*/17 are not complete", [new, half]),
        (r"No PostgreSQL is installed", []),
        (r"an upgrade to 16 would go back", [PostgresBinaries(16, tmp_path)]),
        (r"/bare has no initdb, which an upgrade needs", [bare]),
    ):
        with pytest.raises(StartError, match=words):
            upgrading.choose_versions(data, found, None)
    with pytest.raises(StartError, match="PostgreSQL 19 is not installed, only 18"):
        upgrading.choose_versions(data, [new], 19)


def test_a_disk_without_room_for_a_copy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"needs .* MB, but .* has only"):
        upgrading.check_space(tmp_path / "postgres", 2**62)


def test_a_copy_with_other_rows_is_not_taken() -> None:
    before = {("fieldflame", "a"): TableSum(3, "7"), ("fieldflame", "b"): TableSum(1, "1")}
    assert describe_difference(before, dict(before)) == ""
    assert "b in fieldflame is not the same: 1 rows but none." in describe_difference(
        before, {("fieldflame", "a"): TableSum(3, "7")}
    )
    changed = before | {("fieldflame", "a"): TableSum(3, "8")}
    assert "a in fieldflame is not the same: 3 rows, with other values." in describe_difference(before, changed)


# --- the exchange ---


def test_an_interrupted_exchange_is_finished_at_the_next_start(tmp_path: Path) -> None:
    data, copy = make_data(tmp_path / "postgres", "16\n"), make_data(tmp_path / "postgres.upgraded", "18\n")
    (copy / VERIFIED).touch()
    data.rename(tmp_path / "postgres.old-16")  # and no further
    finish_exchange(data)
    assert (read_data_major(data), (data / VERIFIED).exists()) == (18, False)
    assert read_data_major(tmp_path / "postgres.old-16") == 16


def test_a_copy_that_was_not_verified_is_removed_and_never_taken(tmp_path: Path) -> None:
    data, copy = make_data(tmp_path / "postgres", "16\n"), make_data(tmp_path / "postgres.upgraded", "18\n")
    finish_exchange(data)
    assert (copy.exists(), read_data_major(data)) == (False, 16)


def test_kept_data_without_a_newer_one_is_not_taken_for_an_empty_folder(tmp_path: Path) -> None:
    make_data(tmp_path / "postgres.old-16", "16\n")
    with pytest.raises(StartError, match=r"postgres is missing, but .*postgres\.old-16, .* Move it back"):
        finish_exchange(tmp_path / "postgres")
    assert [path.name for path in tmp_path.iterdir()] == ["postgres.old-16"]


def test_the_exchange_works_behind_a_link_too(tmp_path: Path) -> None:
    real = make_data(tmp_path / "outside" / "postgres", "16\n")
    (make_data(tmp_path / "outside" / "postgres.upgraded", "18\n") / VERIFIED).touch()
    (tmp_path / "postgres").symlink_to(real)
    assert exchange(real, 16) == tmp_path / "outside" / "postgres.old-16"
    assert read_data_major(tmp_path / "postgres") == 18
    (real / VERIFIED).touch()
    finish_exchange(tmp_path / "postgres")
    assert read_data_major(tmp_path / "postgres") == 18
