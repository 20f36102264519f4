"""Refolding: a cell's sums are taken back, its traces are pending again, and the workers fold them from the raw bodies.

Each cell is done in one transaction, under its group's lock. A cell is refolded only if it can be complete again: every
trace in its sums must have its view and its raw body. Other cells stay as they are, and are counted.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

from django.db import connection, transaction

from aggregate.fold.locks import hold_raw_traces, lock_groups, lock_merges
from aggregate.fold.receipt_counts import add_receipt_counts
from aggregate.fold.rollups import unroll_days
from aggregate.fold.writes import add_to_cells, load_cells, negate
from aggregate.models import RefoldRun
from aggregate.raw_bodies import JOIN_BODY
from ingest.models import FOLDED, PENDING
from ingest.storage.groups import allocate_ids
from profcore.sums.fold import FOLD_VERSION
from projects.audit.acts import Act
from projects.audit.entries import record


class CellOutcome(Enum):
    """The outcome for a cell: its sums were taken back, it is kept, or it has no sums."""

    RESET = "reset"
    KEPT = "kept"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Scope:
    """The cells to refold; None means all. `from_at` and `to_at` bound the starts of cells, half-open."""

    project_id: int
    release: str | None = None
    from_at: datetime | None = None
    to_at: datetime | None = None


def start_run(scope: Scope) -> RefoldRun:
    """Returns the unfinished run of this scope under the present fold version, which goes on, or else a new run."""
    with transaction.atomic():
        # Without the lock, a day merged from hours that this run has not done could pass for new.
        lock_merges(scope.project_id)
        ids = allocate_ids(scope.project_id, "refold", 1)  # the counter's row is the lock: two starts make one run
        limits = {"release": scope.release, "from_at": scope.from_at, "to_at": scope.to_at}
        wanted = RefoldRun.objects.filter(project_id=scope.project_id, finished_at=None, fold_version=FOLD_VERSION)
        for name, value in limits.items():
            wanted = wanted.filter(**({f"{name}__isnull": True} if value is None else {name: value}))
        run = wanted.order_by("-id").first()
        if run is None:
            run = RefoldRun(
                project_id=scope.project_id,
                id=ids[0],
                started_at=datetime.now(UTC),
                fold_version=FOLD_VERSION,
                first_new_cell_id=_next_cell_id(scope.project_id),
                **limits,
            )
            run.save(force_insert=True)
            record(Act.REFOLD_STARTED, project=scope.project_id, refold=run.id, release=scope.release)
    return run


def list_cells(run: RefoldRun, most: int | None = None) -> list[tuple[int, int]]:
    """Returns the cells (with their groups) that a run still has to do, without those created after its start.

    At most so many, by their ids; None: all.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.id, c.group_id FROM aggregate_cell c
               JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
               WHERE c.project_id = %(project)s AND c.merged_into IS NULL AND c.id > %(last)s AND c.id < %(new)s
                 AND (%(release)s::text IS NULL OR g.release = %(release)s)
                 AND (%(from)s::timestamptz IS NULL OR c.starts_at >= %(from)s)
                 AND (%(to)s::timestamptz IS NULL OR c.starts_at < %(to)s)
               ORDER BY c.id LIMIT %(most)s""",
            {
                "project": run.project_id,
                "last": run.last_cell_id,
                "new": run.first_new_cell_id,
                "release": run.release,
                "from": run.from_at,
                "to": run.to_at,
                "most": most,
            },
        )
        return list(cursor.fetchall())


def reset_cell(run: RefoldRun, cell_id: int, group_id: int) -> CellOutcome:
    """Takes a cell's sums back and makes its receipts pending, or keeps it. Notes in the run that it is done."""
    with transaction.atomic():
        lock_groups(run.project_id, [group_id])
        hold_raw_traces()
        sums = load_cells(run.project_id, [cell_id]).get(cell_id)
        if sums is None or not sums.traces:  # expired, merged into a day meanwhile, or empty
            outcome = CellOutcome.EMPTY
        elif not _is_whole(run.project_id, cell_id, group_id, sums.views, sums.traces):
            outcome = CellOutcome.KEPT
        else:
            outcome = CellOutcome.RESET
            _set_pending(run.project_id, cell_id, group_id)
            add_to_cells(run.project_id, [(cell_id, negate(sums))])
            _delete_sums(run.project_id, cell_id)
            unroll_days(run.project_id, [cell_id])
        run.last_cell_id = cell_id
        run.cells += outcome is CellOutcome.RESET
        run.kept_cells += outcome is CellOutcome.KEPT
        run.save(update_fields=["last_cell_id", "cells", "kept_cells"])
    return outcome


def finish_run(run: RefoldRun) -> None:
    """Notes that a run is done."""
    run.finished_at = datetime.now(UTC)
    run.save(update_fields=["finished_at"])


def list_runs(project_id: int) -> list[RefoldRun]:
    """Returns a project's refolds that are not deleted yet, the latest first."""
    return list(RefoldRun.objects.filter(project_id=project_id).order_by("-started_at", "-id"))


def _next_cell_id(project_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT COALESCE(max(id), 0) + 1 FROM aggregate_cell WHERE project_id = %s", [project_id])
        row = cursor.fetchone()
    return int(row[0]) if row else 1


def _is_whole(project_id: int, cell_id: int, group_id: int, views: int, traces: int) -> bool:
    """Returns whether every trace in the cell's sums has its view's row and its raw body."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT count(*), COALESCE(sum(v.traces), 0), COALESCE(bool_and(v.traces = k.bodies), true)
               FROM aggregate_pageview v CROSS JOIN LATERAL (
                   SELECT count(t.seq) AS bodies FROM ingest_tracereceipt r {JOIN_BODY}
                   WHERE r.project_id = %(project)s AND r.view_id = v.view_id AND r.group_id = %(group)s
                     AND r.state = {FOLDED}) AS k
               WHERE v.project_id = %(project)s AND v.cell_id = %(cell)s""",
            {"project": project_id, "cell": cell_id, "group": group_id},
        )
        row = cursor.fetchone()
    return row is not None and (row[0], row[1]) == (views, traces) and bool(row[2])


def _set_pending(project_id: int, cell_id: int, group_id: int) -> None:
    """Makes the receipts of a cell pending. They keep their fold version, which tells that they were folded before."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH mine AS (
                   SELECT r.project_id, r.view_id, r.seq, r.received_at, r.state
                   FROM ingest_tracereceipt r JOIN aggregate_pageview v USING (project_id, view_id, group_id)
                   WHERE r.project_id = %(project)s AND v.cell_id = %(cell)s AND r.group_id = %(group)s
                     AND r.state = {FOLDED}
                   ORDER BY r.view_id, r.seq FOR UPDATE OF r),
               counted AS ({add_receipt_counts("mine", sign=-1)})
               UPDATE ingest_tracereceipt r SET state = {PENDING}, attempts = 0, crashes = 0,
                   measured_interval_us = NULL, used_interval_us = NULL, claim_token = NULL, claimed_until = NULL
               FROM mine WHERE r.project_id = %(project)s AND r.view_id = mine.view_id AND r.seq = mine.seq
                 AND r.received_at = mine.received_at""",
            {"project": project_id, "cell": cell_id, "group": group_id},
        )


def _delete_sums(project_id: int, cell_id: int) -> None:
    key = [project_id, cell_id]
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM aggregate_hotspotpiece WHERE project_id = %s AND cell_id = %s", key)
        cursor.execute("DELETE FROM aggregate_calltreepiece WHERE project_id = %s AND cell_id = %s", key)
        cursor.execute("DELETE FROM aggregate_pageview WHERE project_id = %s AND cell_id = %s", key)
        cursor.execute("UPDATE aggregate_cell SET marker_us = NULL WHERE project_id = %s AND id = %s", key)
