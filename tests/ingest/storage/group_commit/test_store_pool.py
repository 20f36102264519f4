"""The connections on which posts are stored: prepared once, replaced when lost, and never waited for too long."""

import pytest
from django.db import DataError, OperationalError, connection
from pytest_django import Settings

from ingest.deadline import DeadlineExceeded, with_deadline
from ingest.storage.store_pool import STORE_POOL
from projects.models import Project

pytestmark = pytest.mark.django_db(transaction=True)

COUNT = "UPDATE projects_project SET name = name || $1::text WHERE slug = $2::text"
SLEEP = "DO 'BEGIN PERFORM pg_sleep(2); END'"
AS_CITUS = """DO $$ BEGIN
    IF current_setting('plan_cache_mode') = 'force_generic_plan' THEN RAISE feature_not_supported; END IF;
    UPDATE projects_project SET name = name || 'x';
END $$"""


@pytest.fixture(autouse=True)
def _new_connections() -> None:
    """Connections that no other test has used."""
    STORE_POOL.close()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO projects_project (slug, name, created_at, route_rules) VALUES ('shop', '', now(), '{}')"
        )


def name_of_shop() -> str:
    return Project.objects.get(slug="shop").name


def find_pooled() -> list[int]:
    """Returns the server's processes behind the pool, which are those without a transaction of Django's."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%|| $1%' "
            "AND pid <> pg_backend_pid()"
        )
        return [pid for (pid,) in cursor.fetchall()]


def test_a_statement_is_in_the_table_when_it_returns() -> None:
    STORE_POOL.execute_with_retry(COUNT, ["a", "shop"])
    STORE_POOL.execute_with_retry(COUNT, ["b", "shop"])
    assert name_of_shop() == "ab"


def test_nothing_is_prepared_where_each_transaction_has_another_session(settings: Settings) -> None:
    settings.TRANSACTION_POOLING, settings.INGEST_STORE_CONNECTIONS = True, 1
    for letter in "ab":
        STORE_POOL.execute_with_retry(COUNT, [letter, "shop"])
    assert name_of_shop() == "ab"
    with STORE_POOL.open().connection() as pooled:
        assert pooled.prepared == set()
        assert pooled.execute("SELECT name FROM pg_prepared_statements").fetchall() == []
        assert pooled.execute("SHOW plan_cache_mode").fetchall() == [("auto",)]


def test_a_pooler_that_nobody_told_of_costs_no_post(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The session of the next transaction knows nothing of what the one before prepared."""
    settings.INGEST_STORE_CONNECTIONS = 1
    monkeypatch.setattr(STORE_POOL, "sessions_change", False)
    STORE_POOL.execute_with_retry(COUNT, ["a", "shop"])
    STORE_POOL.execute_with_retry("DEALLOCATE ALL", [])
    for letter in "bc":
        STORE_POOL.execute_with_retry(COUNT, [letter, "shop"])
    assert name_of_shop() == "abc"
    assert caplog.text.count("FIELDFLAME_TRANSACTION_POOLING=1") == 1


def test_a_cluster_that_refuses_a_plan_for_all_values_gets_one_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STORE_POOL, "plans_differ", False)
    for _ in range(2):
        STORE_POOL.execute_with_retry(AS_CITUS, [])
        STORE_POOL.close()
    assert name_of_shop() == "xx"
    assert STORE_POOL.plans_differ


def test_an_error_of_the_statement_is_djangos_and_leaves_the_connection_usable() -> None:
    with pytest.raises(DataError):
        STORE_POOL.execute_with_retry("UPDATE projects_project SET id = 1 / $1::int", ["0"])
    STORE_POOL.execute_with_retry(COUNT, ["a", "shop"])
    assert name_of_shop() == "a"


def test_a_connection_that_was_lost_meanwhile_is_replaced() -> None:
    STORE_POOL.execute_with_retry(COUNT, ["a", "shop"])
    (pid,) = find_pooled()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 60000)", [pid])
    STORE_POOL.execute_with_retry(COUNT, ["b", "shop"])
    assert name_of_shop() == "ab"
    assert find_pooled() != [pid]


def test_a_statement_that_takes_too_long_is_given_up_with_its_connection() -> None:
    with with_deadline(0.2, cancels=True), pytest.raises(OperationalError) as caught:
        STORE_POOL.execute_with_retry(SLEEP, [])
    assert isinstance(caught.value.__cause__, DeadlineExceeded)
    STORE_POOL.execute_with_retry(COUNT, ["a", "shop"])
    assert name_of_shop() == "a"
