"""Fixtures of the tests of maintenance."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from aggregate import task_turns
from aggregate.maintenance.retention import list_partitions


@pytest.fixture
def without_old_partitions(db: None) -> None:
    """Drops what other tests of this process have left: those of a whole Fieldflame's demo, of a month."""
    with connection.cursor() as cursor:
        for name, day in list_partitions():
            if day < datetime.now(UTC).date() - timedelta(days=1):
                cursor.execute(f"DROP TABLE {name}")


@pytest.fixture
def sent_again(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks that are sent again after a turn."""
    names: list[str] = []
    monkeypatch.setattr(task_turns, "notify_worker", lambda task, flag: names.append(task))
    return names
