"""Maintenance goes by turns too: it gets on in each, leaves the rest to the next, and stops when its worker does."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from pytest_django import Settings

from aggregate import tasks
from aggregate.fold import rollups
from aggregate.fold.rollups import roll_up_hours
from aggregate.maintenance import merging, retention
from aggregate.maintenance.merging import merge_old_hours
from aggregate.maintenance.retention import expire_all
from aggregate.stopping import tell_to_stop
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.old_views import NOW, old_views
from tests.aggregate.posting import fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact, by_day

pytestmark = pytest.mark.django_db
TASKS: dict[str, Callable[[], None]] = {
    "aggregate.merge_hours": tasks.merge_hours,
    "aggregate.roll_up_hours": tasks.roll_up_hours_that_ended,
    "aggregate.expire": tasks.expire,
}
GROUPS = "SELECT count(DISTINCT group_id) FROM aggregate_cell"
DUE = {
    "aggregate.merge_hours": f"{GROUPS} WHERE grain = 0 AND merged_into IS NULL",
    "aggregate.roll_up_hours": f"{GROUPS} WHERE NOT is_rolled",
    "aggregate.expire": "SELECT count(*) FROM aggregate_pageview",
}


@pytest.fixture
def sent(settings: Settings, sent_again: list[str]) -> list[str]:
    """The tasks that are sent again. Twelve old views on two pages are folded, and turns have no time at all."""
    create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", *old_views())
    fold_all()
    settings.FOLD_TURN_S = 0
    return sent_again


@pytest.mark.parametrize("task", TASKS)
def test_each_turn_gets_on_and_the_last_one_sends_no_other(
    sent: list[str], task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if task == "aggregate.expire":
        Project.objects.update(keep_views_days=1)
        monkeypatch.setattr(retention, "EXPIRE_BATCH_ROWS", 1)
    before, due = by_day(), rows(DUE[task])[0][0]
    assert due > 1
    left = []
    for _ in range(due):
        TASKS[task]()
        left.append(rows(DUE[task])[0][0])
    assert left == list(range(due - 1, -1, -1))
    assert sent == [task] * due
    TASKS[task]()
    assert sent == [task] * due
    assert by_day()[:1] == before[:1]
    assert_rollup_is_exact()


def test_a_command_has_no_turns_and_a_turn_no_last_batch(sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollups, "ROLL_UP_BATCH_DAYS", 1)
    monkeypatch.setattr(merging, "MERGE_BATCH_DAYS", 1)
    Project.objects.update(keep_views_days=1)
    assert roll_up_hours(NOW) == 2
    assert merge_old_hours(NOW) == 2
    assert expire_all(NOW + timedelta(days=1)).views == 12
    assert sent == []


def test_maintenance_ends_when_its_worker_is_told_to_stop(sent: list[str], settings: Settings) -> None:
    settings.FOLD_TURN_S = 3_600
    tell_to_stop()
    try:
        tasks.merge_hours()
    finally:
        tell_to_stop(is_wanted=False)
    assert rows(DUE["aggregate.merge_hours"]) == [(1,)]
    assert sent == []
