"""The rules of statements on a distributed schema, and the list of exceptions. The guard applies them in all tests."""

import sys

import pytest
from django.db import connection

from aggregate.selectors.code.symbols import load_symbols
from ops.citus.placement import Place, list_places
from tests.builders import make_project
from tests.citus.all_shards import REASONS
from tests.citus.statement_guard import find_sender, list_functions, take_broken
from tests.citus.statements import find_broken_rules

CELLS = "aggregate_cell c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT g.page, sum(c.views) FROM {CELLS} WHERE c.project_id = 1 GROUP BY 1",
        "SELECT f.id FROM aggregate_func f JOIN aggregate_label l USING (project_id) WHERE project_id IN (1)",
        # Each subquery says the project itself, and what WITH gives of it carries it on.
        """WITH picked AS (SELECT * FROM aggregate_cell WHERE project_id = $1)
           SELECT p.id FROM picked p JOIN aggregate_pageview v ON v.project_id = p.project_id AND v.cell_id = p.id""",
        """SELECT f.id, (SELECT max(l.release) FROM aggregate_label l WHERE l.project_id = $1 AND l.func_id = f.id)
           FROM aggregate_func f WHERE f.project_id = $1""",
        """SELECT x.id FROM (SELECT id, project_id FROM aggregate_func WHERE project_id = 1 UNION ALL
                             SELECT id, project_id FROM aggregate_source WHERE project_id = 1) x
           JOIN aggregate_label l ON l.project_id = x.project_id AND l.func_id = x.id""",
        """DELETE FROM ingest_group g WHERE project_id = 1 AND NOT EXISTS (
               SELECT 1 FROM aggregate_cell c WHERE c.project_id = g.project_id AND c.group_id = g.id)""",
        """SELECT 1 FROM aggregate_cell c WHERE c.project_id = 1 AND EXISTS (
               SELECT FROM aggregate_pageview v WHERE v.project_id = 1 AND v.cell_id = c.id)""",
        # A reference table is on every server.
        "SELECT p.slug, k.origins FROM projects_project p JOIN projects_ingestkey k ON k.project_id = p.id",
        "SELECT id, (SELECT count(*) FROM aggregate_pageview WHERE project_id = 1) FROM projects_project WHERE id = 1",
        # A local table that is asked first, and tables of the system apart from others.
        """WITH live AS MATERIALIZED (SELECT token FROM aggregate_workerlease)
           SELECT id FROM aggregate_job j WHERE j.project_id = 1 AND j.claim_token IN (SELECT token FROM live)""",
        "SELECT relname FROM pg_class JOIN projects_auditentry ON true",
        "INSERT INTO aggregate_source (project_id, id) VALUES (1, 2), (3, 4) ON CONFLICT (project_id, id) DO NOTHING",
        "INSERT INTO aggregate_source (project_id, id) SELECT * FROM unnest($1::bigint[], $2::int[])",
        "INSERT INTO aggregate_cell (id, project_id) SELECT id, project_id FROM aggregate_cell WHERE project_id = 1",
        "DELETE FROM aggregate_func f USING aggregate_label l WHERE f.project_id = 1 AND l.project_id = f.project_id",
        "UPDATE projects_project SET name = 'a' WHERE id = 1",
        "CREATE INDEX CONCURRENTLY i ON aggregate_cell (id)",
    ],
)
def test_a_statement_about_one_project_breaks_no_rule(sql: str) -> None:
    assert [*find_broken_rules(sql)] == []


@pytest.mark.parametrize(
    ("sql", "rules"),
    [
        ("SELECT count(*) FROM aggregate_pageview", ["all shards"]),
        ("SELECT id FROM aggregate_func WHERE project_id = ANY('{1,2}')", ["all shards"]),
        ("SELECT id FROM aggregate_func WHERE project_id = 1 OR id = 2", ["all shards"]),
        (
            "SELECT 1 FROM aggregate_hotspot h JOIN aggregate_cell c ON c.id = h.cell_id WHERE c.project_id = 1",
            ["all shards"],
        ),
        # The subquery gets its project from around it: Citus refuses that, or asks every shard.
        (
            "SELECT id FROM projects_project p WHERE EXISTS (SELECT 1 FROM aggregate_cell c WHERE c.project_id = p.id)",
            ["all shards"],
        ),
        (
            "SELECT 1 FROM aggregate_cell c WHERE c.project_id = 1 AND (c.id = 2 OR EXISTS ("
            "SELECT 1 FROM aggregate_pageview v WHERE v.project_id = c.project_id))",
            ["all shards"],
        ),
        # The answer of such an EXISTS is sent along, and Citus cannot send rows without a column.
        ("SELECT EXISTS (SELECT 1 FROM aggregate_pageview WHERE cell_id = 2)", ["all shards"]),
        ("SELECT EXISTS (SELECT FROM aggregate_pageview WHERE cell_id = 2)", ["all shards", "no column"]),
        (
            "SELECT 1 FROM aggregate_cell c WHERE c.project_id = 1 AND EXISTS ("
            "SELECT FROM aggregate_pageview v WHERE v.cell_id = 3)",
            ["all shards", "no column"],
        ),
        (
            "SELECT 1 FROM aggregate_cell c WHERE EXISTS ("
            "SELECT FROM aggregate_pageview v WHERE v.project_id = c.project_id)",
            ["all shards", "all shards"],
        ),
        (
            "SELECT 1 FROM aggregate_cell c CROSS JOIN LATERAL (SELECT FROM aggregate_pageview v"
            " WHERE v.project_id = c.project_id AND v.cell_id = c.id LIMIT 1) AS v WHERE c.project_id = 1",
            ["all shards"],
        ),
        (
            "SELECT 1 FROM (SELECT project_id FROM aggregate_func WHERE project_id = 1 UNION"
            " SELECT project_id FROM aggregate_source) x JOIN aggregate_label l ON l.project_id = x.project_id",
            ["all shards", "all shards"],
        ),
        ("SELECT m.role FROM projects_membership m, aggregate_cell c WHERE c.project_id = 1", ["local"]),
        ("SELECT 1 FROM ingest_rawtrace_20261123 t, pg_class WHERE t.project_id = 1", ["local"]),
        (
            "WITH live AS (SELECT 1 FROM aggregate_workerlease) SELECT 1 FROM aggregate_job, live WHERE project_id = 1",
            ["local"],
        ),
        (
            "UPDATE projects_project SET id = 2 WHERE id = (SELECT min(id) FROM aggregate_cell WHERE project_id = 1)",
            ["reference"],
        ),
        ("UPDATE aggregate_cell SET project_id = 2 WHERE project_id = 1", ["moves rows"]),
        ("UPDATE aggregate_job SET started_at = clock_timestamp() WHERE project_id = 1", ["volatile"]),
        ("SELECT pg_advisory_xact_lock(id) FROM aggregate_cell WHERE project_id = 1", ["session"]),
        (
            "INSERT INTO ingest_group (project_id, id) VALUES (1, 2) ON CONFLICT (release, page) DO NOTHING",
            ["conflict target"],
        ),
        (
            "WITH found (a) AS (SELECT id FROM aggregate_cell WHERE project_id = 1) SELECT a FROM found",
            ["column names"],
        ),
    ],
)
def test_what_citus_refuses_or_asks_of_every_shard_is_found(sql: str, rules: list[str]) -> None:
    assert [finding.rule for finding in find_broken_rules(sql)] == rules


@pytest.mark.django_db
def test_the_guard_sees_who_sends_a_statement_and_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project("shop")
    assert find_sender(sys._getframe()) is None
    worse = "SELECT '{}', '[]', count(*), 0, '{}'::text[] FROM aggregate_pageview WHERE %(project_id)s > 0"
    monkeypatch.setattr("aggregate.selectors.code.symbols.VERSION", worse)
    load_symbols(project.pk)
    (said,) = take_broken()
    assert said.startswith("aggregate/selectors/code/symbols.py:load_symbols sends what Citus would refuse")
    with connection.cursor() as cursor:
        cursor.execute(worse, {"project_id": project.pk})  # of a test
    assert take_broken() == []


def test_each_exception_names_a_function_and_a_reason() -> None:
    assert set(REASONS) <= list_functions(place.partition(":")[0] for place in REASONS)
    assert all(REASONS.values())


@pytest.mark.django_db
def test_every_table_of_the_database_has_a_place() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace
               AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'django_migrations'"""
        )
        assert {name for (name,) in cursor} == set(list_places())
    assert Place.LOCAL in list_places().values()
