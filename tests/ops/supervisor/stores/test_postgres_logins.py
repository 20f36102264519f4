"""Who may log in to the PostgreSQL of `./run`, and which rules of others stay."""

import os
import pwd
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from ops.supervisor.folder import DataFolder
from ops.supervisor.messages import StartError
from ops.supervisor.stores import access
from ops.supervisor.stores.logins import MARK, read_lines
from ops.supervisor.stores.postgres import PORT, Postgres, make_postgres_child, set_up_postgres, wait_for_postgres

pytestmark = pytest.mark.slow(5)

IS_ROOT = os.geteuid() == 0


def set_up(folder: DataFolder) -> Postgres:
    folder.create()
    return set_up_postgres(folder, is_root=IS_ROOT, is_throw_away=True)


@contextmanager
def serve(postgres: Postgres) -> Iterator[None]:
    child = make_postgres_child(postgres, dict(os.environ), is_throw_away=True)
    child.start()
    try:
        wait_for_postgres(postgres, child, lambda: None)
        yield
    finally:
        child.stop(lambda: False)


def read_user(postgres: Postgres) -> str:
    with psycopg.connect(postgres.connection_text("fieldflame")) as connection:
        row = connection.execute("SELECT current_user").fetchone()
    assert row is not None
    return str(row[0])


def knock(postgres: Postgres, uid: int) -> bytes:
    """Returns the server's first words to another user of this machine who asks to log in as `fieldflame`."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setuid(uid)
            message = struct.pack("!i", 196_608) + b"user\0fieldflame\0database\0fieldflame\0\0"
            with socket.socket(socket.AF_UNIX) as asked:
                asked.settimeout(120)
                asked.connect(f"{postgres.sockets}/.s.PGSQL.{PORT}")
                asked.sendall(struct.pack("!i", len(message) + 4) + message)
                os.write(write_end, asked.recv(2_000))
        except OSError as error:
            os.write(write_end, str(error).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as said:
        answer = said.read()
    os.waitpid(pid, 0)
    return answer


@pytest.mark.slow(6)
def test_emptied_rules_are_written_again_at_the_next_start(passable: Path) -> None:
    folder = DataFolder(passable / "var")
    postgres = set_up(folder)
    for name in ("pg_hba.conf", "pg_ident.conf"):
        (postgres.place.data / name).write_text("# nothing\n")
    postgres = set_up(folder)
    for name in ("pg_hba.conf", "pg_ident.conf"):
        path = postgres.place.data / name
        assert path.read_text().startswith(MARK)
        assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (postgres.place.run_as.uid, 0o600)
    assert {line[3] for line in read_lines(postgres.place.data / "pg_hba.conf")} == {"peer"}
    with serve(postgres):
        assert read_user(postgres) == "fieldflame"


@pytest.mark.slow(6)
@pytest.mark.skipif(not IS_ROOT, reason="only root can ask as other users")
def test_no_other_user_is_let_in_not_even_the_one_that_the_server_runs_as(
    passable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = pwd.getpwnam("nobody")
    monkeypatch.setattr(access, "OUTSIDE_PARENT", passable)
    # The third way of ops/supervisor/stores/access.py: nobody can reach only a folder outside.
    monkeypatch.setattr(access, "can_reach", lambda run_as, programs, folders: folders[0].name != "var")
    postgres = set_up(DataFolder(passable / "var"))
    assert postgres.place.run_as.uid == nobody.pw_uid
    assert postgres.place.data != passable / "var" / "postgres"
    with serve(postgres):
        assert read_user(postgres) == "fieldflame"  # root runs Fieldflame here
        assert b"Peer authentication failed" in knock(postgres, nobody.pw_uid)
        postgres.sockets.chmod(0o755)
        assert b"Peer authentication failed" in knock(postgres, pwd.getpwnam("daemon").pw_uid)


def test_rules_that_somebody_changed_are_left_alone(passable: Path) -> None:
    folder = DataFolder(passable / "var")
    data = set_up(folder).place.data
    changed = "local all all trust\n"
    (data / "pg_hba.conf").write_text(changed)
    set_up(folder)
    assert (data / "pg_hba.conf").read_text() == changed
    (data / "pg_hba.conf").write_text("")
    (data / "pg_ident.conf").write_text("mine grafana grafana\n")
    set_up(folder)
    assert (data / "pg_hba.conf").read_text() == ""


@pytest.mark.slow(6)
def test_rules_that_let_nobody_in_are_said_at_once_with_what_to_do(passable: Path) -> None:
    folder = DataFolder(passable / "var")
    postgres = set_up(folder)
    (postgres.place.data / "pg_hba.conf").write_text("local all all peer map=none\n")
    with pytest.raises(StartError, match="does not let this user in"), serve(set_up(folder)):
        pass
    (postgres.place.data / "pg_hba.conf").write_text("")
    with serve(set_up(folder)):
        assert read_user(postgres) == "fieldflame"
