"""The data folder: its files are private, its lock is exclusive, its sockets' paths are short enough."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from ops.supervisor import folder as data_folder
from ops.supervisor.environment import apply_environment, read_environment, remove_environment, write_environment
from ops.supervisor.folder import (
    SOCKET_PATH_MAX_BYTES,
    DataFolder,
    FolderLock,
    cut_log,
    make_private_folder,
    open_log,
    read_lock_holder,
)
from ops.supervisor.messages import StartError


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_secret_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "var")
    folder.create()
    first = folder.secret_key.read_text()
    folder.create()
    assert folder.secret_key.read_text() == first
    assert len(first.strip()) >= 50
    assert mode_of(folder.secret_key) == 0o600


def test_others_may_pass_through_the_data_folder_but_not_look_in(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "var")
    folder.create()
    assert mode_of(folder.path) == 0o711


def test_a_file_in_the_place_of_the_data_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("not a folder")
    with pytest.raises(StartError, match=r"The data folder .*/var is a file"):
        DataFolder(tmp_path / "var").create()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_data_folder_of_somebody_else_is_named_with_its_owner(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    os.chown(tmp_path / "var", 65534, 65534)
    with pytest.raises(StartError, match=r"belongs to the user nobody; start as that user"):
        DataFolder(tmp_path / "var").create()


def test_a_second_start_in_one_folder_does_not_get_the_lock(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    first, second = FolderLock(folder, "up"), FolderLock(folder, "command")
    assert first.try_acquire()
    assert not second.try_acquire()
    assert read_lock_holder(folder)[0] == "up"
    first.release()
    assert second.try_acquire()
    assert read_lock_holder(folder)[0] == "command"
    second.release()


def test_the_environment_file_gives_back_what_was_written_and_nothing_else(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    url = "postgresql://me:p=w@/db?host=/run/x y&port=5432"
    write_environment(folder, {"DATABASE_URL": url, "REDIS_URL": "unix:///x", "PATH": "/bin"})
    assert read_environment(folder) == {"DATABASE_URL": url, "REDIS_URL": "unix:///x"}
    assert mode_of(folder.environment) == 0o600
    remove_environment(folder)
    assert read_environment(folder) == {}


def test_what_the_caller_has_set_goes_before_the_environment_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "mine")
    monkeypatch.delenv("REDIS_URL", raising=False)
    apply_environment({"DATABASE_URL": "theirs", "REDIS_URL": "theirs"})
    assert (os.environ["DATABASE_URL"], os.environ["REDIS_URL"]) == ("mine", "theirs")


def test_a_socket_folder_outside_is_removed_and_one_inside_is_kept(tmp_path: Path) -> None:
    deep, near = DataFolder(tmp_path / ("d" * 150)), DataFolder(Path(tempfile.mkdtemp(dir="/tmp")))
    for folder in (deep, near):
        make_private_folder(folder.socket_folder("valkey"), os.geteuid(), os.getegid())
        folder.remove_outside_sockets()
    assert not deep.socket_folder("valkey").exists()
    assert near.socket_folder("valkey").exists()
    shutil.rmtree(near.path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_given_to_another_user_is_not_used_for_sockets(tmp_path: Path) -> None:
    (tmp_path / "sockets").mkdir()
    os.chown(tmp_path / "sockets", 12_345, 12_345)
    with pytest.raises(StartError, match="belongs to another user"):
        make_private_folder(tmp_path / "sockets", 65_534, 65_534)


@pytest.mark.parametrize("depth", [1, 200])
def test_a_socket_path_fits_however_deep_the_data_folder_lies(depth: int) -> None:
    folder = DataFolder(Path("/" + "d" * depth))
    assert len(str(folder.socket_folder("postgres") / ".s.PGSQL.5432.lock")) <= SOCKET_PATH_MAX_BYTES


def test_a_folder_of_somebody_else_is_not_used_for_sockets(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sockets").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StartError, match="belongs to another user"):
        make_private_folder(tmp_path / "sockets", 0, 0)


def test_a_log_that_is_too_long_is_moved_while_its_writer_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_folder, "LOG_MAX_BYTES", 10)
    path = tmp_path / "web.log"
    cut_log(path)
    with open_log(path) as log:
        for line, kept, before in ((b"short\n", b"short\n", None), (b"longer\n", b"", b"short\nlonger\n")):
            log.write(line)
            log.flush()
            cut_log(path)
            assert path.read_bytes() == kept
            moved = path.with_name("web.log.1")
            assert (moved.read_bytes() if moved.exists() else None) == before
        log.write(b"next\n")
    assert path.read_bytes() == b"next\n"
    assert mode_of(moved) == 0o600


def test_only_its_owner_can_open_the_lock(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "var")
    folder.create()
    folder.lock.touch(mode=0o644)
    lock = FolderLock(folder, "up")
    assert lock.try_acquire()
    assert mode_of(folder.lock) == 0o600
    lock.release()


def test_logs_are_for_their_owner_only_and_go_on(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "var")
    folder.create()
    path = folder.logs / "web.log"
    for line in (b"a page\n", b"another\n"):
        with open_log(path) as log:
            log.write(line)
        assert mode_of(path) == 0o600
    assert mode_of(folder.logs) == 0o700
    assert path.read_text() == "a page\nanother\n"
