"""PostgreSQL's data folder: made whole or not at all, and only opened by a server of its version."""

import os
from pathlib import Path

import pytest

from ops.supervisor.folder import DataFolder
from ops.supervisor.messages import StartError
from ops.supervisor.stores.access import run_as_self
from ops.supervisor.stores.binaries import PostgresBinaries, choose_postgres, find_postgres, read_data_major
from ops.supervisor.stores.postgres import set_up_postgres

pytestmark = pytest.mark.slow(6)

INSTALLED = [PostgresBinaries(18, Path("/a/bin")), PostgresBinaries(16, Path("/b/bin"))]


def make_data(path: Path, version: str) -> Path:
    (path / "global").mkdir(parents=True)
    (path / "global" / "pg_control").write_bytes(b"\0")
    (path / "PG_VERSION").write_text(version)
    return path


def test_new_data_is_made_by_the_preferred_version(tmp_path: Path) -> None:
    assert choose_postgres(tmp_path / "postgres", INSTALLED).major == 18


def test_old_data_is_opened_by_a_server_of_its_own_version(tmp_path: Path) -> None:
    assert choose_postgres(make_data(tmp_path / "postgres", "16\n"), INSTALLED).major == 16


def test_data_of_a_version_that_is_not_here_is_refused_with_what_to_do(tmp_path: Path) -> None:
    data = make_data(tmp_path / "postgres", "14\n")
    message = "is of PostgreSQL 14, but only PostgreSQL 18, 16 is installed.*`./run backup`.*`./run restore`"
    with pytest.raises(StartError, match=message):
        choose_postgres(data, INSTALLED)


@pytest.mark.parametrize("missing", ["PG_VERSION", "global/pg_control"])
def test_a_half_written_folder_is_refused_and_left_alone(tmp_path: Path, missing: str) -> None:
    data = make_data(tmp_path / "postgres", "18\n")
    (data / missing).unlink()
    with pytest.raises(StartError, match="is not a complete PostgreSQL data folder"):
        read_data_major(data)
    assert data.exists()


def test_no_server_anywhere_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="No PostgreSQL is installed"):
        choose_postgres(tmp_path / "postgres", [])


def test_the_wheels_eighteen_is_preferred_to_its_other_version() -> None:
    first = find_postgres()[0]
    assert first.major == 18
    assert first.bin_folder.parent.name == "pginstall18"


def test_what_an_interrupted_initdb_left_is_replaced_by_whole_data(passable: Path) -> None:
    folder = DataFolder(passable / "var")
    folder.create()
    half = folder.path / "postgres.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    postgres = set_up_postgres(folder, is_root=os.geteuid() == 0, is_throw_away=True)
    assert read_data_major(postgres.place.data) == 18
    assert not half.exists()
    # A second start finds it and makes nothing anew.
    made_at = (folder.postgres / "PG_VERSION").stat().st_mtime_ns
    set_up_postgres(folder, is_root=os.geteuid() == 0, is_throw_away=True)
    assert (folder.postgres / "PG_VERSION").stat().st_mtime_ns == made_at


def test_a_plain_user_runs_the_server_as_himself() -> None:
    run_as = run_as_self()
    assert (run_as.uid, run_as.enter) == (os.geteuid(), None)
