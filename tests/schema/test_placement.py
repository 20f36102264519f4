"""What a Citus cluster needs of the schema, tested without one: a project's rows are found by `project_id` alone."""

import re
from typing import Final

import pytest
from django.db import connection

from ops.citus.placement import REFERENCES, SHARD_COLUMN, Place, list_places, list_tables
from tests.architecture.tree import ROOT

pytestmark = pytest.mark.django_db

PERSONS: Final = "who may log in and see what: changed by persons, and never joined with traffic"
PROCESSES: Final = "a row per process or hour, which is looked at on the coordinator"
# Why a table stays on the coordinator. A new table without `project_id` at the front of its key needs a reason here.
LOCAL: Final = {
    **dict.fromkeys(("aggregate_workerlease", "aggregate_storesize"), PROCESSES),
    **dict.fromkeys(("auth_user", "auth_group", "auth_permission", "django_content_type", "django_session"), PERSONS),
    **dict.fromkeys(("auth_user_groups", "auth_user_user_permissions", "auth_group_permissions"), PERSONS),
    **dict.fromkeys(("axes_accessattempt", "axes_accessattemptexpiration", "axes_accesslog"), PERSONS),
    "axes_accessfailurelog": PERSONS,
    **dict.fromkeys(("projects_membership", "projects_apitoken", "projects_sharedlink", "projects_savedview"), PERSONS),
    "projects_provideridentity": PERSONS,
    "projects_auditentry": "it outlives the project that it names",
    "django_migrations": "Django's own",
}
TABLES: Final = """
SELECT c.relname, COALESCE(parent.relname, c.relname) FROM pg_class c
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class parent ON parent.oid = i.inhparent
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
"""
UNIQUE: Final = """
SELECT t.relname, i.relname, a.attname FROM pg_index x
JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = x.indkey[0]
WHERE x.indisunique AND t.relnamespace = current_schema()::regnamespace
"""
FOREIGN: Final = """
SELECT conrelid::regclass::text, confrelid::regclass::text,
       (SELECT attname FROM pg_attribute WHERE attrelid = conrelid AND attnum = conkey[1]),
       (SELECT attname FROM pg_attribute WHERE attrelid = confrelid AND attnum = confkey[1])
FROM pg_constraint WHERE contype = 'f' AND connamespace = current_schema()::regnamespace
"""
NUMBERED: Final = """
SELECT DISTINCT table_name FROM information_schema.columns
WHERE table_schema = current_schema() AND (is_identity = 'YES' OR column_default LIKE 'nextval(%')
"""
CONFLICT: Final = re.compile(r"INSERT INTO (\w+)(?:(?!INSERT INTO).)*?ON CONFLICT \(([^)]*)\)", re.DOTALL)


def ask(statement: str) -> list[tuple[str, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        rows: list[tuple[str, ...]] = cursor.fetchall()
        return rows


def find_places() -> dict[str, Place]:
    """Returns the place of every table of the database. A partition is where its table is."""
    wanted = list_places()
    return {name: wanted.get(table, Place.LOCAL) for name, table in ask(TABLES)}


def test_every_table_has_a_place_and_the_local_ones_a_reason() -> None:
    local = {table for _, table in ask(TABLES) if list_places().get(table, Place.LOCAL) is Place.LOCAL}
    assert local == set(LOCAL)
    assert not set(REFERENCES) & set(LOCAL)


def test_every_key_and_unique_index_of_traffic_begins_with_the_project() -> None:
    places = find_places()
    indexes = [row for row in ask(UNIQUE) if places[row[0]] is Place.DISTRIBUTED]
    assert {table for table, *_ in indexes} >= set(list_tables(Place.DISTRIBUTED)) - {"ingest_tracereceipt"}
    assert [(table, index) for table, index, first in indexes if first != SHARD_COLUMN] == []


def test_foreign_keys_stay_on_their_worker() -> None:
    places = find_places()
    for table, target, column, target_column in ask(FOREIGN):
        place, other = places[table], places[target]
        if place is Place.DISTRIBUTED:
            is_beside = other is Place.DISTRIBUTED and (column, target_column) == (SHARD_COLUMN, SHARD_COLUMN)
            assert other is Place.REFERENCE or is_beside, (table, target)
        elif place is Place.REFERENCE:
            assert other is Place.REFERENCE, (table, target)
        else:
            assert other is not Place.DISTRIBUTED, (table, target)


def test_ids_of_traffic_come_from_the_projects_own_counters() -> None:
    places = find_places()
    assert [table for (table,) in ask(NUMBERED) if places[table] is Place.DISTRIBUTED] == []


def test_every_conflict_target_of_traffic_begins_with_the_project() -> None:
    distributed, seen = set(list_tables(Place.DISTRIBUTED)), set()
    for folder in ("projects", "ingest", "aggregate", "alerts", "dashboard", "ops", "config"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for table, target in CONFLICT.findall(path.read_text(encoding="utf-8")):
                if table in distributed:
                    seen.add(table)
                    assert re.match(rf"{SHARD_COLUMN}\b", target), (path, table, target)
    assert {"ingest_daybytes", "aggregate_pageview", "ingest_group"} <= seen


def test_only_one_function_finds_rows_by_their_place_on_a_disk() -> None:
    # Each shard has a row at (0, 1): deleting by such places would delete rows of other projects too. It asks first.
    named = [
        path.relative_to(ROOT).as_posix()
        for folder in ("projects", "ingest", "aggregate", "alerts", "dashboard", "ops", "config")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"\bctid\b", path.read_text(encoding="utf-8")) and "migrations" not in path.parts
    ]
    assert named == ["aggregate/maintenance/batches.py"]
