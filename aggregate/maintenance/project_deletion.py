"""Deleting a project: every row of every table that names it, in small transactions, and its own row last.

The project is marked first (`projects.lifecycle`), and is no longer visible. A worker that is killed loses at
most its present batch; the next turn goes on with what is left. The last step waits until no web process remembers a
key of the project, and no post is under way: rows of the endpoint have no foreign key, and would stay for ever.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.apps import apps
from django.conf import settings
from django.db import IntegrityError, connection, models, transaction
from psycopg.sql import SQL, Identifier

from aggregate.estimates import estimate_rows_of
from aggregate.fold.locks import lock_raw_traces
from aggregate.maintenance.batches import delete_some
from aggregate.maintenance.packs.deleting import delete_doomed_packs
from aggregate.maintenance.packs.marking import doom_packs_of_project
from aggregate.maintenance.retention import list_partitions
from aggregate.metrics import count_maintenance
from aggregate.time_budget import BudgetSpent, end_step
from ingest.models import RawTrace, Receipt
from ingest.notify import notify_worker
from ingest.pack_models import Pack
from ingest.storage.packs.mark import may_delete
from ingest.storage.receipt_partitions import list_receipt_partitions
from projects.audit.acts import Act
from projects.audit.entries import record
from projects.lifecycle import mark_for_deletion
from projects.models import Membership, Project

logger = logging.getLogger(__name__)

DELETE_TASK: Final = "aggregate.delete_projects"
DELETE_FLAG: Final = f"fieldflame:notify-{DELETE_TASK}"
BATCH_ROWS: Final = 5_000  # of one transaction, as retention does: about 100 ms
BATCH_BODIES: Final = 200  # of tables with blobs, which are up to some MB each


class NotOurs(Exception):
    """The objects of a project may not be deleted from here."""


@dataclass(frozen=True, slots=True)
class ProjectTable:
    """A table whose rows name a project, its key, and how many of them one transaction deletes."""

    name: str
    key: tuple[str, ...]
    batch: int


def begin_deletion(project: Project) -> bool:
    """Marks a project for deletion and notifies a worker. Returns False if it was marked already."""
    with transaction.atomic():
        is_new = mark_for_deletion(project)
        transaction.on_commit(lambda: notify_worker(DELETE_TASK, DELETE_FLAG))
    return is_new


def delete_marked_projects(now: datetime) -> int:
    """Deletes all marked projects, and returns how many are gone. It may be killed and run again. Raises `BudgetSpent`.

    One that fails is logged, tried again in the next turn, and holds up no other.
    """
    gone = 0
    for project in Project.objects.exclude(deletion_started_at=None).order_by("deletion_started_at", "pk"):
        try:
            is_gone = delete_project(project, now)
            gone += is_gone
            count_maintenance("projects", is_gone)
        except BudgetSpent:
            raise
        except Exception:
            logger.exception("Project %s could not be deleted.", project.pk)
    return gone


def delete_project(project: Project, now: datetime) -> bool:
    """Deletes the rows of a marked project; returns whether the project itself is gone too."""
    if project.deletion_started_at is None:
        return False
    if project.rows_to_delete is None:
        Project.objects.filter(pk=project.pk).update(rows_to_delete=estimate_rows(project.pk))
    while sum(_empty_table(project.pk, table) for table in _list_tables()):
        pass  # a fold that was under way may have written to a table that was empty already
    delete_packs_of(project.pk)
    if now < project.deletion_started_at + timedelta(seconds=settings.DELETE_GRACE_S):
        return False
    _delete_last(project.pk)
    return True


def list_project_models() -> list[type[models.Model]]:
    """Returns the models whose rows name a project. Traces come first, so that no fold begins with them."""
    named = [model for model in apps.get_models() if any(f.column == "project_id" for f in model._meta.concrete_fields)]
    first = (Receipt, RawTrace)
    return sorted(named, key=lambda model: (first.index(model) if model in first else len(first), model._meta.db_table))


def estimate_rows(project_id: int) -> int:
    """Returns about how many rows name a project, by the planner's statistics."""
    return sum(estimate_rows_of(model._meta.db_table, project_id) for model in list_project_models())


def delete_packs_of(project_id: int) -> None:
    """Deletes a project's packs: their objects, then their rows. Raises `BodiesUnavailable`, and `BudgetSpent`.

    Raises `NotOurs` if the bucket is marked as another database's: an operator must say whose it is.
    """
    if not Pack.objects.filter(project_id=project_id).exists():
        return
    doom_packs_of_project(project_id)
    if not may_delete():
        raise NotOurs("the bucket is marked as another database's")
    delete_doomed_packs(project_id)
    Pack.objects.filter(project_id=project_id, doomed_at__isnull=False).delete()


def _list_tables() -> Iterator[ProjectTable]:
    """Yields the tables, except members: they see how far the deletion is."""
    for model in list_project_models():
        has_bodies = any(isinstance(field, models.BinaryField) for field in model._meta.concrete_fields)
        batch = BATCH_BODIES if has_bodies else BATCH_ROWS
        key = tuple(field.column or field.name for field in model._meta.pk_fields)
        # A transaction reads and locks one partition only.
        if model is RawTrace:
            yield from (ProjectTable(name, key, batch) for name, _ in list_partitions())
        elif model is Receipt:
            yield from (ProjectTable(partition.name, key, batch) for partition in list_receipt_partitions())
        elif model not in (Membership, Pack):
            yield ProjectTable(model._meta.db_table, key, batch)


def _empty_table(project_id: int, table: ProjectTable) -> int:
    """Deletes a project's rows of a table, and returns how many. Rows that others still need are left for later."""
    total = 0
    while True:
        try:
            deleted = _delete_batch(project_id, table)
        except IntegrityError:  # rows of a table that comes later refer to them
            return total
        total += deleted
        if deleted:
            end_step()
        if deleted < table.batch:
            return total


def _delete_batch(project_id: int, table: ProjectTable) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        if table.name.startswith(RawTrace._meta.db_table):
            lock_raw_traces()
        deleted = delete_some(
            table.name,
            table.key,
            "t.project_id = %(project_id)s",
            {"project_id": project_id},
            most=table.batch,
        )
        if deleted:
            cursor.execute(
                "UPDATE projects_project SET deleted_rows = coalesce(deleted_rows, 0) + %s WHERE id = %s",
                [deleted, project_id],
            )
    return deleted


def _delete_last(project_id: int) -> None:
    """Deletes the project with its members, and what came since the last pass: its locked row lets nothing more in."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM projects_project WHERE id = %s FOR UPDATE", [project_id])
        for model in list_project_models():
            statement = SQL("DELETE FROM {table} WHERE project_id = %s").format(table=Identifier(model._meta.db_table))
            cursor.execute(statement, [project_id])
        record(Act.PROJECT_DELETED, project=project_id)
        cursor.execute("DELETE FROM projects_project WHERE id = %s", [project_id])
