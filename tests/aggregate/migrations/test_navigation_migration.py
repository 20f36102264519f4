"""Cells of the schema before navigations, and the migration, also after one that was interrupted."""

from collections.abc import Iterator
from typing import Final

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from tests.aggregate.posting import rows
from tests.builders import make_cell, make_project

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(15)]

BEFORE: Final = [("aggregate", "0015_func_bounds")]
AFTER: Final = [("aggregate", "0016_navigation")]
KEY: Final = """SELECT string_agg(a.attname, ' ' ORDER BY k.n) FROM pg_constraint c
    CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k (attnum, n)
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum
    WHERE c.conrelid = 'aggregate_cell'::regclass AND c.conname = 'cell_once'"""


def migrate(target: list[tuple[str, str]]) -> None:
    MigrationExecutor(connection).migrate(target)


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def migrate_to_newest() -> None:
    migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())


@pytest.fixture(autouse=True)
def schema() -> Iterator[None]:
    yield
    migrate_to_newest()


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_cells_of_before_have_an_unknown_navigation_and_new_ones_their_own(is_interrupted: bool) -> None:
    project = make_project()
    make_cell(project, device="mobile", views=7)
    migrate(BEFORE)
    assert rows(KEY) == [("project_id group_id bucket_at grain device_class browser",)]
    if is_interrupted:
        run("ALTER TABLE aggregate_cell ADD COLUMN navigation smallint NOT NULL DEFAULT 0")
        run("CREATE UNIQUE INDEX cell_once_new ON aggregate_cell (project_id, id)")
    migrate(AFTER)
    assert rows(KEY) == [("project_id group_id bucket_at grain device_class browser navigation",)]
    assert rows("SELECT navigation, views FROM aggregate_cell") == [(0, 7)]
    migrate_to_newest()
    make_cell(project, device="mobile", navigation="route")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_cell(project, device="mobile")
