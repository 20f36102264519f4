"""Archiving a project, restoring it, and marking it for deletion (`aggregate.maintenance.project_deletion`)."""

from datetime import UTC, datetime

from django.db import connection, transaction

from projects.audit.acts import Act
from projects.audit.entries import record
from projects.clock import database_now
from projects.key_cache import clear_keys
from projects.models import IngestKey, Project


def archive_project(project: Project) -> None:
    """Archives a project: within seconds the endpoint refuses its traces. What is stored can still be read."""
    _set_archived(project, datetime.now(UTC))


def restore_project(project: Project) -> None:
    """Restores an archived project: within seconds its keys work again."""
    _set_archived(project, None)


def _set_archived(project: Project, at: datetime | None) -> None:
    project.archived_at = at
    with transaction.atomic():
        project.save(update_fields=["archived_at"])
        record(Act.PROJECT_RESTORED if at is None else Act.PROJECT_ARCHIVED, project=project)
    clear_keys()


def hold_project(project_id: int) -> bool:
    """Makes the last step of a deletion wait until the transaction ends. Returns False if the project is being deleted.

    For code that stores rows of the endpoint, which have no foreign key: written after that step they would stay for
    ever.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT FROM projects_project WHERE id = %s AND deletion_started_at IS NULL FOR KEY SHARE", [project_id]
        )
        return cursor.fetchone() is not None


def mark_for_deletion(project: Project) -> bool:
    """Marks a project for deletion, and revokes its keys and tokens. Returns False if it was marked already.

    From now on no one sees it any more. A worker deletes its rows.
    """
    now = database_now()  # a worker of another host waits from here on
    with transaction.atomic():
        marked = Project.objects.filter(pk=project.pk, deletion_started_at=None).update(
            deletion_started_at=now, deleted_rows=0
        )
        IngestKey.objects.filter(project=project, revoked_at=None).update(revoked_at=now)
        project.tokens.filter(revoked_at=None).update(revoked_at=now)
        if marked:
            record(Act.PROJECT_DELETION_STARTED, project=project)
    clear_keys()
    return bool(marked)
