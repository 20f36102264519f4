"""Data steps: moving rows for a change of the schema, in small transactions beside the traffic.

A migration that rewrote a large table would hold its rows for minutes. A data step moves a batch per transaction, and
notes in the same transaction where the next one begins. So a kill repeats nothing and loses nothing. Beat runs all that
are registered in `STEPS`, in turns of upkeep; after each batch it rests as long as the batch took.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.conf import settings
from django.db import transaction

from aggregate.models import DataStep
from aggregate.turns import end_step

# A place in a table, as JSON: None is the beginning.
Place = list[Any] | None


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch did: the rows, and where the next one begins; None if there is nothing left."""

    rows: int
    next_place: Place


@dataclass(frozen=True, slots=True)
class Step:
    """A data step. `move` gets a place and the number of rows to look at, and runs in a transaction.

    It must be able to run beside parts of the release before, which may still write the old form.
    """

    name: str
    why: str
    move: Callable[[Place, int], Batch]


# Steps of this release, in their order. One may go when the release after it contracts the schema.
STEPS: Final[tuple[Step, ...]] = ()


def run_data_steps(now: datetime, *, steps: Sequence[Step] = STEPS) -> None:
    """Runs the steps that are not finished or paused. Raises `TurnOver`."""
    for step in steps:
        while _run_batch(step, now):
            end_step()


def list_steps(steps: Sequence[Step] = STEPS) -> list[tuple[Step, DataStep | None]]:
    """Returns the steps of this release with their progress, None before their start."""
    rows = DataStep.objects.in_bulk([step.name for step in steps])
    return [(step, rows.get(step.name)) for step in steps]


def _run_batch(step: Step, now: datetime) -> bool:
    """Moves a batch; tells whether there is more to do for this process. Only one process works on a step at a time."""
    began_s = time.monotonic()
    DataStep.objects.get_or_create(name=step.name, defaults={"started_at": now})
    with transaction.atomic():
        row = DataStep.objects.select_for_update(skip_locked=True).filter(name=step.name).first()
        if row is None or row.finished_at is not None or row.paused_at is not None:
            return False
        batch = step.move(row.cursor, settings.DATA_STEP_ROWS)
        row.cursor, row.rows = batch.next_place, row.rows + batch.rows
        row.finished_at = datetime.now(UTC) if batch.next_place is None else None
        row.save(update_fields=["cursor", "rows", "finished_at"])
    time.sleep(time.monotonic() - began_s)  # at most half of one connection's time
    return row.finished_at is None
