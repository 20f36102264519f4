"""The release before runs against the schema of this one, under load: posts and folds go on, nothing is lost."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from config.up.parts import BASE_DIR
from tests.proof.corpus.projects import CREATE
from tests.proof.corpus_stack import compare_with_oracle, database
from tests.proof.killing import Sender
from tests.runner.servers import run_stores
from tests.schema.previous import LIMIT_S, WITH_ROWS, Release, export_tree, find_previous

pytestmark = [pytest.mark.stack, pytest.mark.slow(70)]

BEFORE, AFTER = "crunch", "docsite"  # apps of the corpus, each posted in another part of the upgrade
PENDING, FOLDED = 0, 1
# The older release may know the receipts by the name that their first partition has now.
RECEIPTS = "SELECT coalesce(to_regclass('ingest_tracereceipt'), to_regclass('ingest_receipt'))::text"


@pytest.fixture
def releases(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Release, Release]]:
    """The release before, with its schema and two projects, and this one, which has not migrated yet."""
    tree = tmp_path / "tree"
    if why := export_tree(request.param, tree):
        pytest.skip(why)
    with run_stores() as stores:
        environment = {**stores.environment, "FIELDFLAME_FOLD_SWEEP_S": "1", "FIELDFLAME_FOLD_BATCH_TRACES": "5"}
        before, after = Release(tree, environment, tmp_path / "a"), Release(BASE_DIR, environment, tmp_path / "b")
        before.manage("migrate", "--verbosity", "0")
        before.manage("shell", "-c", CREATE.format(slugs=(BEFORE, AFTER)))
        yield before, after


def count_receipts(release: Release) -> dict[int, int]:
    with database(release) as connection:
        (table,) = connection.execute(RECEIPTS).fetchone() or ("",)
        return dict(connection.execute(f"SELECT state, count(*) FROM {table} GROUP BY 1".encode()).fetchall())


def wait_until(release: Release, *, folded: int) -> None:
    """Waits until so many traces are folded, and reports what is in the way if they never are."""
    deadline = time.monotonic() + LIMIT_S
    while (counts := count_receipts(release)).get(FOLDED, 0) < folded:
        logs = release.data / "worker.log"
        assert time.monotonic() < deadline, (counts, logs.read_text()[-2000:] if logs.exists() else "")
        time.sleep(0.1)


def start_sender(stack: ExitStack, port: int, app: str) -> Sender:
    sender = Sender(port, [app])
    sender.start()
    stack.callback(sender.finish)
    return sender


@pytest.mark.parametrize("releases", [find_previous()], indirect=True)
def test_its_web_server_and_its_worker_go_on_beside_the_new_ones(releases: tuple[Release, Release]) -> None:
    before, after = releases
    with ExitStack() as parts:
        old_port = parts.enter_context(before.run_web())
        parts.enter_context(before.run_worker())
        sender = start_sender(parts, old_port, BEFORE)
        half = len(sender.bodies) // 2
        sender.send_more(half)
        wait_until(before, folded=half // 2)
        after.manage("migrate", "--verbosity", "0")  # while posts and folds go on
        sender.finish()
        wait_until(before, folded=len(sender.bodies))  # by the old worker: there is no other
        assert compare_with_oracle(after, [BEFORE]) == []
        new_port = parts.enter_context(after.run_web())
        parts.enter_context(after.run_worker())
        mixed = start_sender(parts, new_port, AFTER)
        mixed.finish()
        wait_until(after, folded=len(sender.bodies) + len(mixed.bodies))  # by both
    assert compare_with_oracle(after, [BEFORE, AFTER]) == []
    assert count_receipts(after) == {FOLDED: len(sender.bodies) + len(mixed.bodies)}


@pytest.mark.parametrize("releases", [WITH_ROWS], indirect=True)
def test_workers_that_should_have_been_stopped_lose_nothing(releases: tuple[Release, Release]) -> None:
    """Hotspots became pieces in one step (decision 37): folds of older workers fail, posts go on."""
    before, after = releases
    with ExitStack() as parts:
        old_port = parts.enter_context(before.run_web())
        with before.run_worker():
            sender = start_sender(parts, old_port, BEFORE)
            half = len(sender.bodies) // 2
            sender.send_more(half)
            wait_until(before, folded=half // 2)
            after.manage("migrate", "--verbosity", "0")
            sender.finish()  # each post is answered 202
            log = before.data / "worker.log"
            deadline = time.monotonic() + LIMIT_S
            while "aggregate_hotspot" not in log.read_text(errors="replace"):  # its batches fail
                assert time.monotonic() < deadline, log.read_text()[-2000:]
                time.sleep(0.1)
        with after.run_worker():
            wait_until(after, folded=len(sender.bodies))
    assert compare_with_oracle(after, [BEFORE]) == []
    assert count_receipts(after) == {FOLDED: len(sender.bodies)}
