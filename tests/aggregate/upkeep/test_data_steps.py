"""Data steps: batches that each end with their progress, in one process at a time, paused and continued."""

from datetime import UTC, datetime

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import Settings

from aggregate.models import DataStep
from aggregate.turns import TurnOver, in_turn
from aggregate.upkeep.data_steps import Batch, Place, Step, run_data_steps
from tests.aggregate.posting import rows

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC)
FAILING = {"at": -1}


def double(place: Place, limit: int) -> Batch:
    """Doubles numbers once each, in the order of their ids."""
    last = place[0] if place else 0
    if last == FAILING["at"]:
        raise ZeroDivisionError
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH taken AS (SELECT id FROM tried WHERE id > %s ORDER BY id LIMIT %s)
               UPDATE tried t SET n = n * 2 FROM taken WHERE t.id = taken.id RETURNING t.id""",
            [last, limit],
        )
        ids = [row[0] for row in cursor.fetchall()]
    return Batch(len(ids), [max(ids)] if len(ids) == limit else None)


STEP = Step("double", "Every number is doubled.", double)


@pytest.fixture(autouse=True)
def table(settings: Settings) -> None:
    settings.DATA_STEP_ROWS = 10
    FAILING["at"] = -1
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE tried ON COMMIT DROP AS SELECT n AS id, n FROM generate_series(1, 35) n")


def is_doubled() -> bool:
    return rows("SELECT bool_and(n = 2 * id) FROM tried") == [(True,)]


def test_a_step_is_done_batch_by_batch_and_only_once() -> None:
    run_data_steps(NOW, steps=[STEP])
    assert is_doubled()
    row = DataStep.objects.get()
    assert (row.rows, row.cursor) == (35, None)
    assert row.finished_at is not None
    run_data_steps(NOW, steps=[STEP])
    assert is_doubled()


def test_a_batch_that_fails_is_undone_with_its_progress_and_done_again() -> None:
    FAILING["at"] = 20
    with pytest.raises(ZeroDivisionError):
        run_data_steps(NOW, steps=[STEP])
    assert DataStep.objects.get().cursor == [20]
    FAILING["at"] = -1
    run_data_steps(NOW, steps=[STEP])
    assert is_doubled()


def test_a_turn_ends_after_a_batch_and_a_paused_step_waits() -> None:
    with pytest.raises(TurnOver), in_turn(0):
        run_data_steps(NOW, steps=[STEP])
    assert DataStep.objects.get().rows == 10
    call_command("data_steps", "--pause", "double")
    run_data_steps(NOW, steps=[STEP])
    assert DataStep.objects.get().rows == 10
    call_command("data_steps", "--resume", "double")
    run_data_steps(NOW, steps=[STEP])
    assert is_doubled()
