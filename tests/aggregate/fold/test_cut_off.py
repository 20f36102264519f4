"""A worker whose host is cut off in the middle of a transaction: PostgreSQL ends it, and others go on."""

from collections.abc import Callable

import psycopg
import pytest
from django.db import Error, connection, transaction
from pytest_django import Settings

from aggregate.fold.locks import hold_merges, hold_raw_traces, lock_groups, lock_merges, lock_raw_traces
from aggregate.sourcemaps.script_locks import lock_scripts
from aggregate.worker_leases import register_lease
from tests.aggregate.posting import database_url

pytestmark = pytest.mark.django_db(transaction=True)

SHOWN = "SHOW idle_in_transaction_session_timeout"
DEADLINE = "SET lock_timeout = '5min'"
LOCKING: dict[str, Callable[[], object]] = {
    "groups": lambda: lock_groups(1, [2, 3]),
    "merges": lambda: lock_merges(1),
    "held merges": lambda: hold_merges(1),
    "raw traces": lock_raw_traces,
    "held raw traces": hold_raw_traces,
    "scripts": lambda: lock_scripts(1),
    "lease": register_lease,
}


def show() -> str:
    with connection.cursor() as cursor:
        cursor.execute(SHOWN)
        row = cursor.fetchone()
    assert row is not None
    return str(row[0])


@pytest.mark.parametrize("lock", LOCKING.values(), ids=LOCKING)
def test_what_holds_others_back_is_bound_until_the_end_of_its_transaction(lock: Callable[[], object]) -> None:
    before = show()
    with transaction.atomic():
        lock()
        assert show() == "1min"
    assert show() == before


def fall_silent() -> None:
    """Takes a lock, waits until another session gets it, and goes on in the same transaction."""
    with transaction.atomic():
        lock_groups(1, [2])
        with psycopg.connect(database_url()) as other:
            other.execute(DEADLINE)
            other.execute("SELECT pg_advisory_xact_lock(1, 2)")
        lock_groups(1, [3])


def test_the_locks_of_a_silent_transaction_become_free(settings: Settings) -> None:
    settings.IDLE_TRANSACTION_S = 1
    with pytest.raises(Error):
        fall_silent()
    connection.close()  # it is lost, and the next test gets another one
