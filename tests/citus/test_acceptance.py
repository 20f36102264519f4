"""The proof on Citus: the corpus is exact, though its tables move to the workers meanwhile and processes are killed."""

import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import psycopg
import pytest

from ops.supervisor.running import RunningStack, run_stack
from tests.acceptance.corpus.oracle import APPS
from tests.acceptance.corpus.projects import create_projects
from tests.acceptance.corpus_stack import compare_with_oracle, corpus, database, post_until_accepted
from tests.acceptance.killing import LIMIT_S, Sender, kill_workers_in_mid_transaction
from tests.citus.cluster import NEEDS_CITUS, execute_on_workers, open_database

pytestmark = [NEEDS_CITUS, pytest.mark.stack, pytest.mark.kills, pytest.mark.slow(200)]

KILLS = 10
# Every session of the database: each fold and post that is under way there loses its connection.
END_SESSIONS = """
SELECT pg_terminate_backend(pid::int) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
WORKERS = """
SELECT p.slug, s.nodeport FROM projects_project p JOIN pg_dist_shard_placement s
ON s.shardid = get_shard_id_for_distribution_column('ingest_tracereceipt', p.id)
"""
OLD, GONE = "old", "gone"  # projects of their own, for retention and for deletion
DELETE = """
from datetime import UTC, datetime, timedelta
from aggregate.maintenance.project_deletion import delete_project
from projects.models import Project
project = Project.objects.get(slug="gone")
project.deletion_started_at = datetime.now(UTC) - timedelta(days=1)
project.save()
print(delete_project(project, datetime.now(UTC)))
"""


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[RunningStack, dict[str, str]]]:
    """A running stack on a cluster; half of the corpus was posted before the tables moved, half of it after."""
    settings = {"FIELDFLAME_FOLD_BATCH_TRACES": "20", "FIELDFLAME_FOLD_SWEEP_S": "1", "FIELDFLAME_CITUS_SHARDS": "4"}
    with open_database() as url, run_stack({"DATABASE_URL": url, **settings}) as stack:
        tokens = create_projects(stack, [*APPS, OLD, GONE])
        for app in (OLD, GONE):
            post_until_accepted(stack.port, app, next(body for _, body in corpus()))
        sender = Sender(stack.port, APPS)
        sender.start()
        try:
            sender.send_more(len(sender.bodies) // 2)
            distribute_meanwhile(stack)
            hits = kill_workers_in_mid_transaction(stack, sender, KILLS // 2)
            end_sessions(url)
            hits += kill_workers_in_mid_transaction(stack, sender, KILLS - hits)
        finally:
            sender.finish()
        assert hits >= KILLS
        stack.wait_until_folded(tokens, limit_s=LIMIT_S)
        yield stack, {app: tokens[app] for app in APPS}


def distribute_meanwhile(stack: RunningStack) -> None:
    """Moves the tables while traces arrive and are folded."""
    failed: list[BaseException] = []

    def distribute() -> None:
        try:
            stack.manage("distribute")
        except BaseException as error:  # told by the test's own thread
            failed.append(error)

    mover = threading.Thread(target=distribute)
    mover.start()
    mover.join(LIMIT_S)
    assert not mover.is_alive()
    assert failed == []


def end_sessions(url: str) -> None:
    """Ends all sessions on the workers, until there were some."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if any(execute_on_workers(url.rpartition("/")[2], END_SESSIONS)):
            return
        time.sleep(0.01)
    raise TimeoutError("nobody was connected to the workers")


def test_every_total_is_that_of_the_oracle(site: tuple[RunningStack, dict[str, str]]) -> None:
    stack, tokens = site
    assert compare_with_oracle(stack) == []
    for app in APPS:
        status = stack.read(app, tokens[app], "status")
        assert (status["received"], status["rejected"]) == (sum(1 for _ in corpus([app])), 0)
    assert "All are in their places." in stack.manage("distribute", "--check")


def test_tenants_are_on_different_workers(site: tuple[RunningStack, dict[str, str]]) -> None:
    stack, _ = site
    with database(stack) as connection:
        places = {str(slug): port for slug, port in connection.execute(WORKERS)}
    assert len({places[app] for app in APPS}) > 1


def test_a_refold_gives_the_same_totals(site: tuple[RunningStack, dict[str, str]]) -> None:
    stack, tokens = site
    for app in APPS:
        assert " 0 kept as they are." in stack.manage("refold", "--project", app, "--no-fold").replace(",", "")
    stack.wait_until_folded(tokens, limit_s=LIMIT_S)
    assert compare_with_oracle(stack) == []


def test_a_table_that_a_migration_makes_follows_the_others(site: tuple[RunningStack, dict[str, str]]) -> None:
    stack, _ = site
    with database(stack) as connection:
        connection.execute("SELECT undistribute_table('ingest_daycount')")
    with pytest.raises(RuntimeError, match="1 tables are not in their places"):
        stack.manage("distribute", "--check")
    stack.manage("migrate")
    assert "All are in their places." in stack.manage("distribute", "--check")


def test_retention_reaches_the_rows_of_one_project_only(site: tuple[RunningStack, dict[str, str]]) -> None:
    stack, _ = site
    with database(stack) as connection:
        make_old(connection, OLD)
        assert OLD in list_with_cells(connection)
    stack.manage("expire")
    with database(stack) as connection:
        assert list_with_cells(connection) - {GONE} == set(APPS)
    assert compare_with_oracle(stack) == []


def test_a_deletion_takes_the_rows_of_one_project_only(site: tuple[RunningStack, dict[str, str]]) -> None:
    stack, _ = site
    assert stack.manage("shell", "-c", DELETE).splitlines()[-1] == "True"
    with database(stack) as connection:
        assert GONE not in list_with_cells(connection)
    assert compare_with_oracle(stack) == []


def make_old(connection: "psycopg.Connection[tuple[object, ...]]", app: str) -> None:
    """Moves the cells of a project back by twenty years."""
    cells = connection.execute(
        "SELECT c.starts_at, c.project_id, c.id FROM aggregate_cell c JOIN projects_project p ON p.id = c.project_id "
        "WHERE p.slug = %s",
        (app,),
    ).fetchall()
    for at, project_id, cell_id in cells:
        assert isinstance(at, datetime)
        connection.execute(
            "UPDATE aggregate_cell SET starts_at = %s WHERE project_id = %s AND id = %s",
            (at - timedelta(days=20 * 365), project_id, cell_id),
        )


def list_with_cells(connection: "psycopg.Connection[tuple[object, ...]]") -> set[object]:
    """Returns the projects that have cells."""
    slugs = connection.execute(
        "SELECT p.slug FROM aggregate_cell c JOIN projects_project p ON p.id = c.project_id GROUP BY 1"
    )
    return {slug for (slug,) in slugs}
