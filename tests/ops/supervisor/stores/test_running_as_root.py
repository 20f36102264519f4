"""Root starts PostgreSQL as somebody else, also where nobody else may go."""

import os
import pwd
import shutil
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from ops.supervisor.folder import DataFolder
from ops.supervisor.stores import access
from ops.supervisor.stores.access import appear_as, can_reach, choose_place, demote_to
from ops.supervisor.stores.binaries import find_postgres
from ops.supervisor.stores.postgres import Postgres, make_postgres_child, set_up_postgres, wait_for_postgres

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root changes user"), pytest.mark.slow(9)]


def namespaces_work() -> bool:
    return can_reach(appear_as(pwd.getpwnam("nobody")), [], [Path("/")])


def answer_of(folder: DataFolder, postgres: Postgres) -> str:
    """Starts the server, asks it as whom it runs in its data folder, stops it."""
    child = make_postgres_child(postgres, dict(os.environ), is_throw_away=True)
    child.start()
    try:
        wait_for_postgres(postgres, child, lambda: None)
        with psycopg.connect(postgres.connection_text("fieldflame")) as connection:
            row = connection.execute("SELECT current_setting('data_directory')").fetchone()
        assert row is not None
        return str(row[0])
    finally:
        assert child.stop(lambda: False)


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A folder that only root may enter, as a clone below /root is."""
    path = tmp_path / "closed"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def reachable(passable: Path) -> tuple[DataFolder, Path]:
    """A data folder and programs that every user can reach."""
    folder = DataFolder(passable / "var")
    folder.create()
    programs = passable / "bin"
    programs.mkdir()
    for name in ("postgres", "initdb"):
        shutil.copy("/bin/true", programs / name)
    return folder, programs


def test_where_namespaces_work_no_other_users_process_owns_the_data(reachable: tuple[DataFolder, Path]) -> None:
    if not namespaces_work():
        pytest.skip("this kernel or container refuses user namespaces")
    folder, programs = reachable
    place = choose_place(bin_folder=programs, data=folder.postgres, digest="0", is_root=True)
    assert place.run_as.uid == os.geteuid()


def test_without_namespaces_the_server_runs_as_nobody_where_others_may_pass(
    reachable: tuple[DataFolder, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "appear_as", refuse)
    folder, programs = reachable
    place = choose_place(bin_folder=programs, data=folder.postgres, digest="0", is_root=True)
    assert place.run_as.uid == pwd.getpwnam("nobody").pw_uid


def test_the_start_says_that_the_data_belongs_to_nobody(
    passable: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(access, "appear_as", refuse)
    monkeypatch.setattr(access, "OUTSIDE_PARENT", passable)
    folder = DataFolder(passable / "var")
    folder.create()
    set_up_postgres(folder, is_root=True, is_throw_away=False)
    assert "Any other process of that user can read and change its data" in "".join(capfd.readouterr())


def test_below_a_closed_folder_the_server_keeps_the_data_where_it_is(closed: Path) -> None:
    if not namespaces_work():
        pytest.skip("this kernel or container refuses user namespaces")
    folder = DataFolder(closed / "var")
    folder.create()
    postgres = set_up_postgres(folder, is_root=True, is_throw_away=True)
    assert answer_of(folder, postgres) == str(folder.postgres)
    assert not folder.postgres.is_symlink()
    assert closed.stat().st_mode & 0o777 == 0o700  # no folder was opened


@pytest.mark.slow(8)
def test_without_namespaces_data_and_programs_go_where_nobody_can_reach_them(
    closed: Path, passable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "OUTSIDE_PARENT", passable)
    monkeypatch.setattr(access, "appear_as", refuse)
    folder = DataFolder(closed / "var")
    folder.create()
    postgres = set_up_postgres(folder, is_root=True, is_throw_away=True)
    assert answer_of(folder, postgres) == os.readlink(folder.postgres)
    assert str(postgres.place.data).startswith(str(passable))
    # The next start finds the same data, although a namespace would work by then.
    monkeypatch.undo()
    monkeypatch.setattr(access, "OUTSIDE_PARENT", passable)
    again = set_up_postgres(folder, is_root=True, is_throw_away=True)
    assert answer_of(folder, again) == str(postgres.place.data)


def refuse(user: pwd.struct_passwd) -> access.RunAs:
    """Stands for a container in which namespaces cannot be made."""

    def enter() -> None:
        raise OSError(1, "unshare")

    return access.RunAs(uid=0, gid=0, enter=enter, description="refused", seen_as="nobody")


def test_data_of_another_way_of_running_is_given_to_the_servers_user(closed: Path) -> None:
    if not namespaces_work():
        pytest.skip("this kernel or container refuses user namespaces")
    folder = DataFolder(closed / "var")
    folder.create()
    set_up_postgres(folder, is_root=True, is_throw_away=True)
    nobody = pwd.getpwnam("nobody")
    for path in [folder.postgres, *folder.postgres.rglob("*")]:
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    postgres = set_up_postgres(folder, is_root=True, is_throw_away=True)
    assert answer_of(folder, postgres) == str(folder.postgres)


@pytest.mark.parametrize("make", [demote_to, appear_as])
def test_a_program_that_is_not_there_cannot_be_reached(make: Callable[[pwd.struct_passwd], access.RunAs]) -> None:
    assert not can_reach(make(pwd.getpwnam("nobody")), [Path("/nowhere/postgres")], [Path("/")])


def test_copied_programs_run_without_the_originals(tmp_path: Path) -> None:
    installation = shutil.copytree(find_postgres()[0].bin_folder.parent, tmp_path / "package" / "pginstall18")
    copied = access.copy_binaries(installation / "bin", tmp_path / "outside")
    shutil.rmtree(installation)
    assert os.access(copied / "postgres", os.X_OK)
    assert (copied.parent / "share").is_dir()
