"""A backup made under load, restored into another server: the same rows, and after all posts the oracle's sums."""

import json
import re
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ops.supervisor.running import RunningStack, run_stack
from tests.acceptance.corpus.oracle import APPS
from tests.acceptance.corpus.projects import create_projects
from tests.acceptance.corpus_stack import compare_with_oracle, corpus, database, post_until_accepted
from tests.ops.supervisor.running import SMALL, run_manage

pytestmark = [pytest.mark.nightly, pytest.mark.stack, pytest.mark.slow(60)]

APP = APPS[2]
RECEIPTS = re.compile(r"ingest_(trace)?receipt(_\d+)?")  # the manifest names partitions
FIRST = 40  # accepted, and so in the backup, before it begins
COUNT = "SELECT count(*) FROM ingest_tracereceipt"


class Load(threading.Thread):
    """Posts envelopes until it is told to stop."""

    def __init__(self, port: int, bodies: list[bytes]) -> None:
        super().__init__(daemon=True)
        self.port, self.bodies, self.posted, self.is_over = port, bodies, 0, threading.Event()

    def run(self) -> None:
        for body in self.bodies:
            post_until_accepted(self.port, APP, body)
            self.posted += 1
            if self.is_over.is_set():
                return


def count_receipts(stack: RunningStack) -> int:
    with database(stack) as connection:
        row = connection.execute(COUNT).fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture(scope="module")
def bodies() -> list[bytes]:
    return [body for _, body in corpus([APP])]


@pytest.fixture(scope="module")
def backup(bodies: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A backup that was made while traces arrived and were folded."""
    parent = tmp_path_factory.mktemp("backups")
    with run_stack(SMALL) as stack:
        create_projects(stack, [APP])
        for body in bodies[:FIRST]:
            post_until_accepted(stack.port, APP, body)
        load = Load(stack.port, bodies[FIRST:] * 100)  # a post again changes nothing, and is work for the server
        load.start()
        before = load.posted
        made = stack.manage("backup", str(parent), "--keep", "1")
        posted = load.posted - before
        load.is_over.set()
        load.join()
    assert posted > 0, "nothing arrived meanwhile"
    folder = Path(next(line for line in made.splitlines() if line.startswith(str(parent))))
    yield folder
    shutil.rmtree(parent)


def test_the_restored_server_has_the_same_rows_and_goes_on(backup: Path, bodies: list[bytes]) -> None:
    """The restore itself compares all rows with the sums of the backup's snapshot, in the other server."""
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in backup.iterdir()} == dict.fromkeys(
        ("admin_password", "database.dump", "manifest.json", "secret_key"), 0o600
    )
    assert stat.S_IMODE(backup.stat().st_mode) == 0o700
    with run_restored(backup) as stack:
        assert (stack.folder.secret_key).read_text() == (backup / "secret_key").read_text()
        assert count_receipts(stack) >= FIRST  # all that was accepted before it began
        token = stack.create_token(APP)
        for body in bodies:
            post_until_accepted(stack.port, APP, body)
        stack.wait_until_folded({APP: token})
        assert compare_with_oracle(stack, [APP]) == []
        refused = run_manage("restore", str(backup), data=stack.folder.path, **stack_addresses(stack))
        assert (refused.returncode, "The database has data of Fieldflame" in refused.stderr) == (1, True)


def stack_addresses(stack: RunningStack) -> dict[str, str]:
    return {name: stack.store_environment[name] for name in ("DATABASE_URL", "REDIS_URL")}


@contextmanager
def run_restored(backup: Path) -> Iterator[RunningStack]:
    """Runs a Fieldflame in a new data folder into which a backup was restored."""
    path = backup.parent / "other"
    path.mkdir(mode=0o711)
    stack = RunningStack(path / "var", SMALL)
    try:
        done = run_manage("restore", str(backup), data=stack.folder.path)
        assert done.returncode == 0, done.stderr
        assert "equal to the backup" in done.stdout
        stack.start()
        yield stack
    finally:
        stack.stop()
        shutil.rmtree(path)


def test_a_changed_backup_or_a_folder_without_one_is_refused(backup: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(backup, tmp_path / "copy")
    (copy / "secret_key").write_text("another")
    refused = run_manage("restore", str(copy), data=tmp_path / "var")
    assert "secret_key is missing or not as it was written" in refused.stderr
    tables = json.loads((backup / "manifest.json").read_text())["tables"]
    assert sum(table["rows"] for name, table in tables.items() if RECEIPTS.fullmatch(name)) >= FIRST
