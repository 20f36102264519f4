"""A worker has one process, a second one while tasks wait, and gives it back when it was not needed for a while."""

from dataclasses import dataclass, field

import pytest
from celery.worker import state

from ops import worker_processes
from ops.worker_processes import KEEP_S, WAIT_S, PatientAutoscaler

LIMITS = (3, 1)


@dataclass
class FakePool:
    """A pool that only counts its processes."""

    num_processes: int = 1
    is_busy: bool = False
    maintained: int = field(default=0)

    def grow(self, count: int) -> None:
        self.num_processes += count

    def shrink(self, count: int) -> None:
        if self.is_busy:
            raise ValueError("Can't shrink pool. All processes busy!")
        self.num_processes -= count

    def maintain_pool(self) -> None:
        self.maintained += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(worker_processes, "monotonic", lambda: now[0])
    return now


def look(scaler: PatientAutoscaler, monkeypatch: pytest.MonkeyPatch, tasks: int) -> int:
    """Lets the worker look while it has so many tasks; returns its processes then."""
    monkeypatch.setattr(state, "reserved_requests", set(range(tasks)))
    scaler.maybe_scale()
    count: int = scaler.processes
    return count


def test_processes_are_added_when_tasks_have_waited(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    pool = FakePool()
    scaler = PatientAutoscaler(pool, *LIMITS)
    assert look(scaler, monkeypatch, 2) == 1
    clock[0] += WAIT_S
    assert look(scaler, monkeypatch, 1) == 1  # it waits no more
    assert look(scaler, monkeypatch, 9) == 1
    clock[0] += WAIT_S
    assert look(scaler, monkeypatch, 9) == 3
    assert pool.maintained == 1
    clock[0] += WAIT_S * 9
    assert look(scaler, monkeypatch, 99) == 3


def test_an_arriving_task_adds_none_at_once(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    scaler = PatientAutoscaler(FakePool(), *LIMITS)
    look(scaler, monkeypatch, 9)
    clock[0] += WAIT_S
    scaler.maybe_scale(object())
    assert scaler.processes == 1


def test_a_process_goes_when_it_was_not_needed_for_a_while(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    pool = FakePool(num_processes=3)
    scaler = PatientAutoscaler(pool, *LIMITS)
    clock[0] += KEEP_S
    assert look(scaler, monkeypatch, 3) == 3  # each has a task
    clock[0] += KEEP_S - 1
    assert look(scaler, monkeypatch, 1) == 3
    clock[0] += 1
    pool.is_busy = True
    assert look(scaler, monkeypatch, 1) == 3
    pool.is_busy = False
    clock[0] += KEEP_S
    assert look(scaler, monkeypatch, 1) == 2
    clock[0] += KEEP_S
    assert look(scaler, monkeypatch, 0) == 1
    clock[0] += KEEP_S
    assert look(scaler, monkeypatch, 0) == 1
