"""Deleting source maps: scripts with their labels, and the files that nothing refers to any more."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction

from aggregate.label_models import ReleaseScript
from aggregate.sourcemaps.script_locks import lock_scripts
from projects.audit.acts import Act
from projects.audit.entries import record

UPLOAD_DAYS: Final = 1  # an upload stores its files before the scripts that name them


def delete_release(project_id: int, release: str) -> int:
    """Deletes the scripts of a release with their labels; returns the number of scripts."""
    ids = ReleaseScript.objects.filter(project_id=project_id, release=release).values_list("id", flat=True)
    with transaction.atomic():
        deleted = delete_scripts(project_id, list(ids))
        if deleted:
            record(Act.SOURCE_MAPS_DELETED, project=project_id, release=release, scripts=deleted)
    return deleted


def delete_scripts(project_id: int, script_ids: Sequence[int]) -> int:
    """Deletes scripts with their labels, and their bundles, maps and sources that nothing else uses.

    Returns the number of scripts.
    """
    if not script_ids:
        return 0
    with transaction.atomic():
        lock_scripts(project_id)
        delete_labels(project_id, script_ids)
        with connection.cursor() as cursor:
            cursor.execute(
                """DELETE FROM aggregate_releasescript WHERE project_id = %s AND id = ANY(%s::int[])
                   RETURNING bundle_id, map_id""",
                [project_id, list(script_ids)],
            )
            gone = cursor.fetchall()
        artifact_ids = sorted({artifact_id for row in gone for artifact_id in row if artifact_id is not None})
        delete_unused_artifacts(project_id, artifact_ids)
    return len(gone)


def delete_labels(project_id: int, script_ids: Sequence[int]) -> None:
    """Deletes the labels of scripts, and the sources that no label points to any more. Under the project's lock.

    Stacks of hangs lose their originals, and are looked up again in the maps that are left.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH gone AS (DELETE FROM aggregate_label WHERE project_id = %s AND script_id = ANY(%s::int[])
                   RETURNING source_id)
               SELECT DISTINCT source_id FROM gone WHERE source_id IS NOT NULL""",
            [project_id, list(script_ids)],
        )
        source_ids = [source_id for (source_id,) in cursor]
        cursor.execute(
            """DELETE FROM aggregate_source s
               WHERE s.project_id = %(project_id)s AND s.id = ANY(%(source_ids)s::int[]) AND NOT EXISTS (
                   SELECT FROM aggregate_label l WHERE l.project_id = %(project_id)s AND l.source_id = s.id)""",
            {"project_id": project_id, "source_ids": source_ids},
        )
        cursor.execute(
            """UPDATE ingest_hangcount SET originals = NULL
               WHERE project_id = %s AND jsonb_path_exists(originals, '$[*] ? (@ != null)')""",
            [project_id],
        )


def delete_unused_artifacts(project_id: int, artifact_ids: Sequence[int]) -> None:
    """Deletes the given bundles and maps that no script has. Under the project's lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM aggregate_artifact a
               WHERE a.project_id = %(project_id)s AND a.id = ANY(%(artifact_ids)s::int[]) AND NOT EXISTS (
                   SELECT FROM aggregate_releasescript s
                   WHERE s.project_id = %(project_id)s AND a.id IN (s.bundle_id, s.map_id))""",
            {"project_id": project_id, "artifact_ids": list(artifact_ids)},
        )


def expire_source_maps(project_id: int, now: datetime, *, keep_days: int, shared_days: int) -> int:
    """Deletes scripts uploaded before `keep_days` whose release has no cells; returns their number.

    Scripts that may serve other releases stay for `shared_days`. Also deletes files of uploads that broke off, sources
    that no label points to because another map replaced theirs, and debug ids that belong to no script.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT s.id FROM aggregate_releasescript s
               WHERE s.project_id = %(project_id)s
                 AND s.uploaded_at < CASE WHEN s.is_shared THEN %(shared_before)s ELSE %(before)s END AND NOT EXISTS (
                   SELECT FROM ingest_group g JOIN aggregate_cell c ON c.project_id = g.project_id AND c.group_id = g.id
                   WHERE g.project_id = %(project_id)s AND g.release = s.release)""",
            {
                "project_id": project_id,
                "before": now - timedelta(days=keep_days),
                "shared_before": now - timedelta(days=max(keep_days, shared_days)),
            },
        )
        script_ids = [script_id for (script_id,) in cursor]
    deleted = delete_scripts(project_id, script_ids)
    with transaction.atomic(), connection.cursor() as cursor:
        lock_scripts(project_id)
        cursor.execute(
            """DELETE FROM aggregate_artifact a
               WHERE a.project_id = %(project_id)s AND a.created_at < %(before)s AND NOT EXISTS (
                   SELECT FROM aggregate_releasescript s
                   WHERE s.project_id = %(project_id)s AND a.id IN (s.bundle_id, s.map_id))""",
            {"project_id": project_id, "before": now - timedelta(days=UPLOAD_DAYS)},
        )
        cursor.execute(
            "DELETE FROM aggregate_uploadchunk WHERE project_id = %s AND created_at < %s",
            [project_id, now - timedelta(days=UPLOAD_DAYS)],
        )
        cursor.execute(
            """DELETE FROM ingest_scriptdebugid i
               WHERE i.project_id = %(project_id)s AND i.seen_at < %(before)s AND NOT EXISTS (
                   SELECT FROM aggregate_releasescript s
                   WHERE s.project_id = %(project_id)s AND s.debug_id = i.debug_id AND s.release = i.release)""",
            {"project_id": project_id, "before": now - timedelta(days=keep_days)},
        )
        cursor.execute(
            """DELETE FROM aggregate_source s WHERE s.project_id = %(project_id)s AND NOT EXISTS (
                   SELECT FROM aggregate_label l WHERE l.project_id = %(project_id)s AND l.source_id = s.id)""",
            {"project_id": project_id},
        )
    return deleted
