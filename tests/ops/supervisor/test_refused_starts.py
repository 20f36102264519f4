"""`up` where it cannot start: one sentence says why."""

import socket
from pathlib import Path

import pytest

from ops.supervisor.folder import DataFolder
from ops.supervisor.running import find_free_port
from tests.ops.supervisor.running import run_manage

pytestmark = pytest.mark.slow(8)

NOT_HERE_URL = "postgresql://someone:secret@127.0.0.1:1/nothing"


def test_a_taken_port_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        refused = run_manage("up", "--port", str(port), data=tmp_path / "var")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"Fieldflame: Port {port} on 127.0.0.1 is taken by another program")
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "url"), [("DATABASE_URL", NOT_HERE_URL), ("REDIS_URL", "redis://:secret@127.0.0.1:1/0")]
)
def test_a_given_server_that_cannot_be_reached_is_reported_in_one_sentence(tmp_path: Path, name: str, url: str) -> None:
    refused = run_manage("up", "--port", str(find_free_port()), data=tmp_path / "var", **{name: url})
    assert refused.returncode == 1
    assert f"server that {name} names cannot be used: " in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert "secret" not in refused.stderr


def test_data_of_another_version_is_reported_in_one_sentence(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "var")
    (folder.postgres / "global").mkdir(parents=True)
    (folder.postgres / "global" / "pg_control").touch()
    (folder.postgres / "PG_VERSION").write_text("9\n")
    refused = run_manage("up", "--port", str(find_free_port()), data=folder.path)
    assert refused.returncode == 1
    assert "is of PostgreSQL 9, but only PostgreSQL" in refused.stderr
    assert refused.stderr.count("\n") == 1
