"""The scripts of a release by URL: rows written at the end of an upload, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.db import connection

from aggregate.label_models import Artifact, ReleaseScript
from aggregate.sourcemaps.deleting import delete_labels, delete_unused_artifacts
from aggregate.sourcemaps.script_locks import lock_scripts
from ingest.storage.groups import allocate_ids

KEY: Final = ("project", "id")
SAVE_BATCH: Final = 1_000


class StoredMeanwhileDeleted(Exception):
    """A stored file was deleted before its script was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRow:
    """A script of an upload; `bundle_id` or `map_id` is None if the upload does not have it."""

    uri: str
    file: str
    is_shared: bool
    bundle_id: int | None
    map_id: int | None
    debug_id: UUID | None


def write_scripts(project_id: int, release: str, rows: Sequence[ScriptRow]) -> set[str]:
    """Writes a release's scripts; changed ones become pending. Inside a transaction.

    Returns the URIs that got a map of an earlier upload, by its debug id. Maps without bundles are given to all scripts
    with their debug ids and without a map. Raises `StoredMeanwhileDeleted`.
    """
    lock_scripts(project_id)
    _check_stored(project_id, rows)
    early_maps = _maps_of(project_id, [row.debug_id for row in rows if row.debug_id and row.map_id is None])
    uris = [row.uri for row in rows]
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT uri, id FROM aggregate_releasescript
               WHERE project_id = %s AND release = %s AND uri = ANY(%b::text[])
                 AND md5(uri) IN (SELECT md5(w) FROM unnest(%b::text[]) AS w)""",
            [project_id, release, uris, uris],
        )
        ids = dict(cursor.fetchall())
    # Locked, because whole rows are written, which must not undo a worker's claim.
    present = ReleaseScript.objects.select_for_update().filter(project_id=project_id, id__in=list(ids.values()))
    by_uri = {script.uri: script for script in present.order_by("id")}
    replaced = {
        artifact_id for script in by_uri.values() for artifact_id in (script.bundle_id, script.map_id) if artifact_id
    }
    matched: set[str] = set()
    merged = []
    for row in sorted({row.uri: row for row in rows}.values(), key=lambda row: row.uri):
        whole = _merge(row, by_uri.get(row.uri))
        if whole.map_id is None and row.debug_id in early_maps:
            whole = replace(whole, map_id=early_maps[row.debug_id])
            matched.add(row.uri)
        merged.append(whole)
    _upsert(project_id, release, merged, by_uri)
    _give_maps(project_id, merged)
    delete_unused_artifacts(project_id, sorted(replaced))
    return matched


def _check_stored(project_id: int, rows: Sequence[ScriptRow]) -> None:
    wanted = {artifact_id for row in rows for artifact_id in (row.bundle_id, row.map_id) if artifact_id is not None}
    if Artifact.objects.filter(project_id=project_id, id__in=wanted).count() != len(wanted):
        raise StoredMeanwhileDeleted


def _maps_of(project_id: int, debug_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Returns the newest stored map of each debug id."""
    maps = Artifact.objects.filter(project_id=project_id, kind=Artifact.Kind.MAP, debug_id__in=debug_ids)
    return {debug_id: map_id for debug_id, map_id in maps.order_by("id").values_list("debug_id", "id") if debug_id}


def _merge(row: ScriptRow, known: ReleaseScript | None) -> ScriptRow:
    """Returns the row with the map of an earlier upload, unless that is of another bundle; its bundle likewise."""
    if known is None:
        return row
    if row.map_id is None and known.bundle_id in (None, row.bundle_id):
        return replace(row, map_id=known.map_id)
    if row.bundle_id is None and known.map_id in (None, row.map_id):
        return replace(row, bundle_id=known.bundle_id, debug_id=row.debug_id or known.debug_id)
    return row


def _upsert(project_id: int, release: str, rows: Sequence[ScriptRow], by_uri: dict[str, ReleaseScript]) -> None:
    now = datetime.now(UTC)
    new_ids = iter(allocate_ids(project_id, "script", sum(row.uri not in by_uri for row in rows)))
    scripts = []
    for row in rows:
        known = by_uri.get(row.uri)
        script = known or ReleaseScript(project_id=project_id, id=next(new_ids), release=release, uri=row.uri)
        before = (script.file, script.bundle_id, script.map_id)
        is_same = before == (row.file, row.bundle_id, row.map_id) and script.failure is None
        script.file, script.is_shared, script.debug_id = row.file, row.is_shared, row.debug_id
        script.bundle_id, script.map_id, script.uploaded_at = row.bundle_id, row.map_id, now
        if known is None or not is_same:
            _mark_pending(script, now)
        scripts.append(script)
    delete_labels(project_id, [script.id for script in scripts if script.map_id is None])
    _save(scripts)


def _save(scripts: Sequence[ReleaseScript]) -> None:
    """Writes whole rows, new and old ones, many in one statement."""
    columns = [field.name for field in ReleaseScript._meta.concrete_fields if field.name not in KEY]
    ReleaseScript.objects.bulk_create(
        scripts, update_conflicts=True, unique_fields=KEY, update_fields=columns, batch_size=SAVE_BATCH
    )


def _mark_pending(script: ReleaseScript, now: datetime) -> None:
    script.pending_at = now if script.map_id is not None else None
    script.labelled_func_id = 0
    script.attempts = 0
    script.claimed_until = None
    script.failure = None


def _give_maps(project_id: int, rows: Sequence[ScriptRow]) -> None:
    """Gives maps to scripts of earlier uploads, of any release, that have their debug id and no map."""
    maps = {row.debug_id: row.map_id for row in rows if row.debug_id is not None and row.map_id is not None}
    without = ReleaseScript.objects.filter(project_id=project_id, map_id=None, debug_id__in=list(maps))
    waiting = list(without.select_for_update().order_by("id"))
    now = datetime.now(UTC)
    for script in waiting:
        assert script.debug_id is not None  # the script was matched by it
        script.map_id = maps[script.debug_id]
        _mark_pending(script, now)
    _save(waiting)
