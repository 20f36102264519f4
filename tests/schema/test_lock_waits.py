"""Migrations that cannot get their lock: they give up, let others pass, and try again."""

from collections.abc import Iterator
from io import StringIO
from itertools import pairwise
from typing import Final

import psycopg
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from ops.database import waiting
from projects.creation import create_project
from tests.aggregate.posting import database_url, fold_all, post, rows
from tests.envelopes import make_envelope
from tests.schema.migrating import migrate, migrate_to_newest

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(20)]

# A migration of Django that changes a column.
BEFORE: Final = ("auth", "0011_update_proxy_permissions")
APPLIED: Final = (
    "SELECT count(*) FROM django_migrations WHERE app = 'auth' AND name = '0012_alter_user_first_name_max_length'"
)
WAITING: Final = """SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE d.datname = current_database() AND NOT l.granted"""


@pytest.fixture
def holder(settings: Settings) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    """A session that has read the accounts and does not end its transaction, as a long export does."""
    settings.MIGRATE_LOCK_MS = 20
    create_project(slug="shop", key="shop-key", origins=["*"])
    migrate(BEFORE)
    with psycopg.connect(database_url(), application_name="an export") as other:
        other.execute("SELECT count(id) FROM auth_user")
        yield other
    migrate_to_newest()


def test_a_migration_gives_up_its_place_in_the_queue_and_comes_back(
    holder: "psycopg.Connection[tuple[object, ...]]", monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = []

    def pause(seconds: float) -> None:
        assert rows(WAITING) == [(0,)]  # nobody would wait behind it
        assert rows("SELECT count(*) FROM auth_user") == [(0,)]
        assert rows(APPLIED) == [(0,)]
        pauses.append(seconds)
        if len(pauses) == 2:
            holder.rollback()

    monkeypatch.setattr(waiting, "sleep", pause)
    out = StringIO()
    call_command("migrate", stdout=out, verbosity=1)
    assert len(pauses) == 2
    assert rows(APPLIED) == [(1,)]
    assert "an export, idle in transaction" in out.getvalue()
    post("shop-key", make_envelope("a", "A B"))
    fold_all()
    assert rows("SELECT sum(views) FROM aggregate_cell") == [(1,)]


def test_after_its_deadline_it_says_who_holds_the_lock(
    holder: "psycopg.Connection[tuple[object, ...]]", settings: Settings
) -> None:
    settings.MIGRATE_DEADLINE_S = 0
    with pytest.raises(CommandError, match=r"no lock within 0 s\. Open transactions: process \d+ \(an export"):
        call_command("migrate", verbosity=0)
    assert rows(APPLIED) == [(0,)]


def test_each_statement_outside_a_transaction_is_limited_except_those_that_hold_up_nobody() -> None:
    statements = [
        "CREATE TABLE tried (id int)",
        "CREATE INDEX CONCURRENTLY tried_id ON tried (id)",
        "ALTER TABLE tried ADD COLUMN name text",
        "DROP TABLE tried",
    ]
    with CaptureQueriesContext(connection) as captured, connection.schema_editor(atomic=False) as editor:
        for statement in statements:
            editor.execute(statement, None)
    texts = [query["sql"] for query in captured if query["sql"] not in ("BEGIN", "COMMIT")]
    limited = [after for before, after in pairwise(texts) if "lock_timeout" in before]
    assert limited == [statements[0], statements[2], statements[3]]
    assert rows("SHOW lock_timeout") == [("0",)]
