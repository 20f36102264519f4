"""Refolding in the background: if the rules of the fold are newer than the sums, beat starts a refold.

One run per project and fold version, over the cells whose raw traces may still be kept. A few cells at a time: the next
ones follow when the workers have folded those. So a run costs what folding costs, and waits while there is a backlog.
Its row says where it is, so a kill changes nothing.
"""

import time
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection, transaction

from aggregate.maintenance.refolding import CellOutcome, Scope, finish_run, list_cells, reset_cell, start_run
from aggregate.models import RefoldRun
from aggregate.time_budget import end_step
from ingest.models import PENDING
from ingest.notify import notify_worker
from profcore.caching import keep
from profcore.sums.fold import FOLD_VERSION
from profcore.times import midnight_days_before
from projects.limits import limit_of
from projects.models import Project

# A worker of older rules would fold the traces by them again. So no such worker may have run within this time.
OLDER_WORKERS_GONE: Final = timedelta(minutes=10)
FIND_OLDER: Final = """SELECT EXISTS (SELECT 1 FROM aggregate_workerlease
    WHERE heartbeat_at > %s AND fold_version < %s)"""
# A project without older sums is taken to have none for this long: only workers of older rules make some, and nothing
# is begun while they run. Looking for them reads all cells that could be refolded.
NOTHING_OLDER_S: Final = 3_600.0
HAS_OLD_CELLS: Final = """SELECT EXISTS (SELECT 1 FROM aggregate_cell
    WHERE project_id = %s AND merged_into IS NULL AND traces > 0 AND starts_at >= %s AND fold_version < %s)"""

_nothing_older_until: Final[dict[int, float]] = keep({})


def refold_in_background(now: datetime) -> None:
    """Takes the sums of some cells of each project back, where a refold is due. Raises `BudgetSpent`."""
    if not settings.REFOLD_IN_BACKGROUND:
        return
    if _has_older_workers(now):
        _nothing_older_until.clear()
        return
    for project in Project.objects.filter(deletion_started_at=None).order_by("id"):
        run = _find_run(project, now)
        if run is not None and run.finished_at is None and run.paused_at is None:
            _go_on(run)


def set_paused(run: RefoldRun, at: datetime | None) -> None:
    """Pauses a background run, or lets it go on (None). The cells that are taken back are folded in any case."""
    run.paused_at = at
    run.save(update_fields=["paused_at"])


def list_background_runs(project_id: int) -> list[RefoldRun]:
    """Returns the unfinished background runs of a project: at most one."""
    return list(
        RefoldRun.objects.filter(project_id=project_id, is_background=True, finished_at=None, fold_version=FOLD_VERSION)
    )


def _has_older_workers(now: datetime) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(FIND_OLDER, [now - OLDER_WORKERS_GONE, FOLD_VERSION])
        row = cursor.fetchone()
    return row is not None and bool(row[0])


def _find_run(project: Project, now: datetime) -> RefoldRun | None:
    """Returns the project's background run under the present rules. It is started if there are sums of older ones."""
    known = RefoldRun.objects.filter(project_id=project.pk, is_background=True, fold_version=FOLD_VERSION)
    if (run := known.order_by("-id").first()) is not None:
        return run
    now_s = time.monotonic()
    if _nothing_older_until.get(project.pk, now_s) > now_s:
        return None
    raw_from = midnight_days_before(now, limit_of(project, "keep_raw_days").effective)
    with connection.cursor() as cursor:
        cursor.execute(HAS_OLD_CELLS, [project.pk, raw_from, FOLD_VERSION])
        row = cursor.fetchone()
    if row is None or not row[0]:
        _nothing_older_until[project.pk] = now_s + NOTHING_OLDER_S
        return None
    with transaction.atomic():
        run = start_run(Scope(project.pk, from_at=raw_from))
        run.is_background, run.total_cells = True, run.cells + run.kept_cells + len(list_cells(run))
        run.save(update_fields=["is_background", "total_cells"])
    return run


def _go_on(run: RefoldRun) -> None:
    """Takes back at most REFOLD_CELLS_AT_ONCE cells, unless as many traces as a batch has are pending."""
    cells = list_cells(run, most=settings.REFOLD_CELLS_AT_ONCE + 1)
    for cell_id, group_id in cells[: settings.REFOLD_CELLS_AT_ONCE]:
        if _count_pending(run.project_id) >= settings.FOLD_BATCH_TRACES:
            return
        if reset_cell(run, cell_id, group_id) is CellOutcome.RESET:
            notify_worker()
        end_step()
    if len(cells) <= settings.REFOLD_CELLS_AT_ONCE:
        finish_run(run)


def _count_pending(project_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM (SELECT FROM ingest_tracereceipt WHERE project_id = %s AND state = %s
                                     LIMIT %s) AS p""",
            [project_id, PENDING, settings.FOLD_BATCH_TRACES],
        )
        row = cursor.fetchone()
    return int(row[0]) if row else 0
