"""Hotspots of the schema with a row per func and cell, and the migration to pieces and back."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from aggregate.folding.writes import HOTSPOT_SUMS
from ingest.projects.creation import create_project
from tests.aggregate.posting import everything, fold_all, post, rows
from tests.envelopes import make_envelope

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(15)]

BEFORE: Final = [("aggregate", "0019_job_counts")]
AFTER: Final = [("aggregate", "0020_hotspot_pieces")]
KIND: Final = "SELECT relkind::text FROM pg_class WHERE relname = 'aggregate_hotspot'"
SUMS: Final = ", ".join(f"sum({name})::bigint" for name in HOTSPOT_SUMS)


def migrate(target: list[tuple[str, str]]) -> None:
    MigrationExecutor(connection).migrate(target)


@pytest.fixture(autouse=True)
def schema() -> Iterator[None]:
    yield
    migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())


def sums() -> list[tuple[Any, ...]]:
    """Returns every hotspot with its sums."""
    return rows(f"SELECT project_id, cell_id, func_id, {SUMS} FROM aggregate_hotspot GROUP BY 1, 2, 3 ORDER BY 1, 2, 3")


def test_sums_are_the_same_before_and_after_and_again_on_the_way_back() -> None:
    for slug in ("shop", "other"):
        create_project(slug=slug, key=f"{slug}-key", origins=["*"])
        busy = {"marks": [{"type": "longtask", "start": 0, "duration": 1_000}]}
        post(f"{slug}-key", make_envelope("a", "A B\n-\nA B C", **busy), make_envelope("b", "A", page="/other"))
        fold_all()
        post(f"{slug}-key", make_envelope("c", "A\nC\n-\nC", **busy))
        fold_all()
    before, state = sums(), everything()
    assert rows("SELECT sum(hidden_us) > 0 FROM aggregate_hotspot") == [(True,)]
    migrate(BEFORE)
    assert rows(KIND) == [("r",)]
    assert sums() == before
    assert len(rows("SELECT * FROM aggregate_hotspot")) == len(before)
    migrate(AFTER)
    assert rows(KIND) == [("v",)]
    assert rows("SELECT * FROM aggregate_hotspot ORDER BY 1, 2, 3") == before  # one piece per cell
    assert everything() == state
    migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())
    post("shop-key", make_envelope("d", "A"))
    fold_all()
    assert sums() != before


def test_a_database_without_hotspots_is_migrated_too() -> None:
    migrate(BEFORE)
    migrate(AFTER)
    assert rows("SELECT count(*) FROM aggregate_hotspot") == [(0,)]
