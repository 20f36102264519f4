"""A refold in a process of its own, killed at its worst moments and run again: rows as of one that was never killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from aggregate.maintenance.merging import merge_old_hours
from aggregate.maintenance.refolding import list_cells
from aggregate.models import RefoldRun
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.old_views import NOW, old_views
from tests.aggregate.posting import database_url, fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact, dump_rows
from tests.envelopes import make_envelope
from tests.runner.waiting import wait_until

LIMIT_S = 120.0
GATE = 4_711

# Lets the first statements pass, stops the others. The server counts: a passage opened from here could let two pass.
MAKE_GATE = f"""
CREATE SEQUENCE passages;
CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
    IF nextval('passages') > {{passages}} THEN PERFORM pg_advisory_xact_lock({GATE}, 1); END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER gate BEFORE {{event}} FOR EACH STATEMENT EXECUTE FUNCTION wait_at_gate();
"""
# A fold's views are written when its cells, hotspots and call trees are.
AT_VIEWS = "INSERT ON aggregate_pageview"
# A reset ends by noting in its run that a cell is done, everything else being deleted.
AT_RUN = "UPDATE ON aggregate_refoldrun"
NO_GATE = "DROP FUNCTION IF EXISTS wait_at_gate() CASCADE; DROP SEQUENCE IF EXISTS passages"


@contextmanager
def gate(event: str, passages: int) -> Iterator[None]:
    """Holds a gate shut from a session of its own, once some statements have passed it."""
    with connection.cursor() as cursor:
        cursor.execute(NO_GATE)
        cursor.execute(MAKE_GATE.format(event=event, passages=passages))
    with psycopg.connect(database_url(), autocommit=True) as holder:
        holder.execute(f"SELECT pg_advisory_lock({GATE}, 1)")
        try:
            yield
        finally:
            holder.execute("SELECT pg_advisory_unlock_all()")
            with connection.cursor() as cursor:
                cursor.execute(NO_GATE)


def find_at_gate() -> list[int]:
    """Returns the database sessions that wait at the gate."""
    query = f"""
        SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.classid = {GATE} AND NOT l.granted
    """
    return [pid for (pid,) in rows(query)]


def start_refold() -> subprocess.Popen[str]:
    """Starts the command against the test's database, in batches of two traces."""
    return subprocess.Popen(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "refold", "--project", "shop"],
        env={**os.environ, "DATABASE_URL": database_url(), "FIELDFLAME_FOLD_BATCH_TRACES": "2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_at_gate(event: str, passages: int) -> None:
    """Starts a refold and kills it in a transaction, at the statement after so many of that kind."""
    with gate(event, passages):
        process = start_refold()
        wait_until(lambda: bool(find_at_gate()))
        (session,) = find_at_gate()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    # Its session ends when it has got through the gate and finds nobody to answer to.
    wait_until(lambda: rows("SELECT pid FROM pg_stat_activity WHERE pid = %s", session) == [])


@pytest.mark.always
@pytest.mark.kills
@pytest.mark.slow(15)
@pytest.mark.django_db(transaction=True)
def test_a_refold_killed_in_its_transactions_ends_with_the_rows_of_one_never_killed() -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", *old_views(20))
    fold_all()
    merge_old_hours(NOW)
    post("shop-key", *(make_envelope(f"new{n}", "A B\nC", page=f"/n{n}") for n in range(6)))
    fold_all()
    whole = start_refold().communicate(timeout=LIMIT_S)
    before = dump_rows()
    assert whole[0].startswith("12 cells refolded"), whole

    kill_at_gate(AT_RUN, 3)
    run = RefoldRun.objects.get(finished_at=None)
    assert (run.cells, len(list_cells(run))) == (3, 9)  # the one it died in is as if untouched
    kill_at_gate(AT_VIEWS, 2)
    assert rows("SELECT count(*) FROM ingest_tracereceipt WHERE state = 0")[0][0] > 0
    assert_rollup_is_exact()
    out, _ = start_refold().communicate(timeout=LIMIT_S)
    assert "Going on with the refold that was started at" in out
    assert "12 cells are done, 0 are left." in out
    assert dump_rows() == before
    assert rows("SELECT count(*) FROM ingest_tracereceipt WHERE state = 0") == [(0,)]
    assert list_cells(RefoldRun.objects.get(project=Project.objects.get(), id=run.id)) == []
    assert RefoldRun.objects.filter(finished_at=None).count() == 0
