"""The workers' counters, and a tally of what one task did, for its line in the log.

Tags are closed sets: outcomes, reasons of `profcore.errors.Reason`, kinds of jobs, kinds of rows.
"""

from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from prometheus_client import Counter, Histogram

FOLD_BATCH_SECONDS: Final = Histogram(
    "fieldflame_fold_batch_seconds",
    "Time from the claim of a batch to its commit, by outcome (folded, given_back, failed)",
    ["outcome"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
FOLD_BATCH_TRACES: Final = Histogram(
    "fieldflame_fold_batch_traces", "Traces of a folded batch", buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500)
)
FOLD_TRACES: Final = Counter(
    "fieldflame_fold_traces_total",
    "Traces that left the queue, by outcome (folded, rejected) and reason (a profcore.errors.Reason, or empty)",
    ["outcome", "reason"],
)
FOLD_DELAY_SECONDS: Final = Histogram(
    "fieldflame_fold_delay_seconds",
    "Time from the receipt of a trace to the commit of its fold",
    buckets=(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0, 7_200.0),
)
CLAIMS_LOST: Final = Counter("fieldflame_claims_lost_total", "Batches that another worker took over")
LONE_CRASHES: Final = Counter(
    "fieldflame_lone_crashes_total", "Traces, folded alone, that crashed their process or took too long"
)
HEARTBEATS_FAILED: Final = Counter(
    "fieldflame_heartbeats_failed_total", "Heartbeats of a worker that the database did not take"
)
MAINTENANCE: Final = Counter(
    "fieldflame_maintenance_total",
    "What maintenance did, by kind: deleted rows and partitions, days merged and rolled up, projects deleted",
    ["kind"],
)
MAINTENANCE_KINDS: Final = (
    *("partitions", "raw_traces", "views", "cells", "receipt_partitions", "absences", "hangs", "audit_entries"),
    *("merged_days", "rolled_days", "projects", "packs", "tidied_packs", "orphans"),
)
JOB_SECONDS: Final = Histogram(
    "fieldflame_job_seconds",
    "Time of one attempt at a job, by kind and outcome (done, refused, failed, lost, interrupted)",
    ["kind", "outcome"],
    buckets=(0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0),
)
SCRIPTS: Final = Counter(
    "fieldflame_scripts_total",
    "Scripts whose functions were looked up in a source map, by outcome (labelled, changed, failed, crashed)",
    ["outcome"],
)

MESSAGES: Final = Counter(
    "fieldflame_messages_total", "Attempts to send a message about an alert, by outcome (sent, failed)", ["outcome"]
)


def begin_series() -> None:
    """Makes the series of what every worker does, so that the first of each is seen as a rise."""
    for outcome in ("folded", "given_back", "failed"):
        FOLD_BATCH_SECONDS.labels(outcome)
    FOLD_TRACES.labels("folded", "")
    for kind in MAINTENANCE_KINDS:
        MAINTENANCE.labels(kind)
    for outcome in ("labelled", "changed", "failed", "crashed"):
        SCRIPTS.labels(outcome)
    for outcome in ("sent", "failed"):
        MESSAGES.labels(outcome)


_tally: Final[ContextVar[Tally[str] | None]] = ContextVar("tally", default=None)


@contextmanager
def tallied() -> Iterator[Tally[str]]:
    """Yields what `note` adds up until the block ends."""
    tally = Tally[str]()
    token = _tally.set(tally)
    try:
        yield tally
    finally:
        _tally.reset(token)


def note(word: str, count: int = 1) -> None:
    """Adds to the tally of the present task, if there is one."""
    tally = _tally.get()
    if tally is not None and count:
        tally[word] += count


def count_maintenance(kind: str, count: int = 1) -> None:
    """Counts what maintenance did. `kind` is one of `MAINTENANCE_KINDS`."""
    if count:
        MAINTENANCE.labels(kind).inc(count)
        note(kind, count)
