"""Celery's signals as metrics: how long tasks wait and run, what was sent, which processes started.

Celery's own lines, two or three for each sweep, are quiet (`ops.telemetry.logs`): a task that did something says so.
"""

import time
from typing import Any, Final

from celery import Celery, Task
from celery.signals import (
    before_task_publish,
    setup_logging,
    task_postrun,
    task_prerun,
    worker_init,
    worker_process_init,
)
from prometheus_client import Counter, Histogram
from structlog.contextvars import bind_contextvars, clear_contextvars

from aggregate.metrics import begin_series as begin_worker_series

SENT_AT: Final = "fieldflame_sent_at"  # in a task's headers
# Turns take FOLD_TURN_S; a job takes minutes.
BUCKETS_S: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 600.0, 3_600.0)
OUTCOMES: Final = {"SUCCESS": "done", "FAILURE": "failed", "RETRY": "retried"}
OURS: Final = ("aggregate.", "ingest.", "dashboard.")

TASK_SECONDS: Final = Histogram(
    "fieldflame_task_seconds",
    "Time that tasks ran, which is the length of a turn, by task",
    ["task"],
    buckets=BUCKETS_S,
)
TASK_WAIT_SECONDS: Final = Histogram(
    "fieldflame_task_wait_seconds", "Time that tasks waited for a worker, by task", ["task"], buckets=BUCKETS_S
)
TASKS: Final = Counter(
    "fieldflame_tasks_total", "Tasks that ended, by task and outcome (done, failed, retried)", ["task", "outcome"]
)
TASKS_SENT: Final = Counter("fieldflame_tasks_sent_total", "Tasks that this part sent, by task", ["task"])
PROCESSES: Final = Counter(
    "fieldflame_processes_started_total", "Processes that a part has started, by part (web, worker)", ["part"]
)

_began_s: dict[str, float] = {}  # by the id of the task; a process runs one at a time


def list_tasks(app: Celery) -> list[str]:
    """Returns the names of our tasks: the closed set of the tag."""
    return sorted(name for name in app.tasks if name.startswith(OURS))


@worker_init.connect
def begin_series(sender: Any = None, **_: object) -> None:  # Any: Celery's worker
    """Makes the series of what every worker does, in its main process, which lives as long as the worker."""
    sender.app.loader.import_default_modules()
    begin_worker_series()
    for name in list_tasks(sender.app):
        TASK_SECONDS.labels(name)
        TASK_WAIT_SECONDS.labels(name)
        for outcome in OUTCOMES.values():
            TASKS.labels(name, outcome)


@setup_logging.connect
def keep_logging(**_: object) -> None:
    """Keeps Celery from setting up logs of its own: a receiver is enough."""


@worker_process_init.connect
def count_process(**_: object) -> None:
    PROCESSES.labels("worker").inc()


@before_task_publish.connect
def mark_task(sender: str = "", headers: Any = None, **_: object) -> None:  # Any: Celery's own
    """Writes into a message when it was sent, and counts it."""
    if isinstance(headers, dict):
        headers[SENT_AT] = time.time()
    if sender.startswith(OURS):
        TASKS_SENT.labels(sender).inc()


@task_prerun.connect
def begin_task(task_id: str = "", task: "Task[..., Any] | None" = None, **_: object) -> None:
    clear_contextvars()
    bind_contextvars(task=task.name if task else "", task_id=task_id)
    _began_s.clear()
    _began_s[task_id] = time.perf_counter()
    sent_at = getattr(task.request, SENT_AT, None) if task else None
    if task and isinstance(sent_at, int | float):  # two hosts' clocks may differ a little
        TASK_WAIT_SECONDS.labels(task.name).observe(max(time.time() - sent_at, 0))


@task_postrun.connect
def end_task(task_id: str = "", task: "Task[..., Any] | None" = None, state: str = "", **_: object) -> None:
    began_s = _began_s.pop(task_id, None)
    if task and began_s is not None:
        TASK_SECONDS.labels(task.name).observe(time.perf_counter() - began_s)
        TASKS.labels(task.name, OUTCOMES.get(state, "failed")).inc()
    clear_contextvars()
