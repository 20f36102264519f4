"""Every migration can be undone and done again with rows in the tables, and loses no sum on the way."""

from typing import Final

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from ingest.projects.creation import create_project
from tests.aggregate.posting import call_trees, fold_all, post, rows
from tests.envelopes import make_envelope
from tests.schema.migrating import migrate, migrate_to_newest

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(60)]

# Undone down to these, which create the tables. Undoing them drops what was posted.
FIRST: Final = {"ingest": "0002_raw_traces", "aggregate": "0001_initial"}
# What the first schema could hold. A column that is younger is empty afterwards, until a refold fills it.
SUMS: Final = """SELECT sum(views), sum(traces), sum(js_us), sum(hidden_us), sum(idle_us), sum(span_us)
    FROM aggregate_cell"""
HOTSPOTS: Final = """SELECT cell_id, func_id, sum(self_samples), sum(total_samples), sum(self_us), sum(total_us),
    sum(hidden_us), sum(views) FROM aggregate_hotspot GROUP BY 1, 2 ORDER BY 1, 2"""
RECEIPTS: Final = "SELECT view_id, seq, state FROM ingest_tracereceipt ORDER BY 1, 2"
RAW: Final = "SELECT view_id, seq, body FROM ingest_rawtrace ORDER BY 1, 2"


def list_steps_back() -> list[tuple[str, str]]:
    """Returns the targets that undo our migrations one by one."""
    graph = MigrationLoader(connection).graph
    forwards: dict[tuple[str, str], None] = {}
    for leaf in graph.leaf_nodes():
        forwards |= dict.fromkeys(graph.forwards_plan(leaf))
    before: dict[tuple[str, str], tuple[str, str]] = {}
    for app, first in FIRST.items():
        names = [key for key in forwards if key[0] == app and key[1] >= first]
        before |= dict(zip(names[1:], names, strict=False))
    return [before[key] for key in reversed(forwards) if key in before]


def read_kept() -> list[object]:
    """Returns what must be the same after all migrations were undone and done again."""
    return [*(rows(sql) for sql in (SUMS, HOTSPOTS, RECEIPTS, RAW)), call_trees()]


def test_all_migrations_are_undone_and_done_again_with_traces_in_the_tables() -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    busy = {"marks": [{"type": "longtask", "start": 0, "duration": 1_000}]}
    post("shop-key", make_envelope("a", "A B\n-\nA B C", **busy), make_envelope("b", "A", page="/other"))
    fold_all()
    post("shop-key", make_envelope("c", "A B"))  # pending: it is folded at the end
    before, steps = read_kept(), list_steps_back()
    assert len(steps) >= 37
    try:
        for step in steps:
            migrate(step)
    finally:
        migrate_to_newest()
    assert read_kept() == before
    fold_all()
    assert rows("SELECT sum(traces) FROM aggregate_cell") == [(3,)]
