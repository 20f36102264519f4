"""Labelling the funcs of one script: its map is read in a process of its own, and its labels are written at once."""

import logging
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec
from django.conf import settings
from django.db import connection, transaction

from aggregate.child_process import CrashedAlone, run_alone
from aggregate.hung_stacks import CallPlace, HungStacks, load_stacks
from aggregate.label_models import Artifact, Label
from aggregate.metrics import SCRIPTS, note
from aggregate.sourcemaps.debug_ids import BATCH, place_scripts
from aggregate.sourcemaps.deleting import delete_labels
from aggregate.sourcemaps.map_reader import MapResult, MapTask, SourceRow, result_decoder
from aggregate.sourcemaps.queue import (
    ScriptClaim,
    claim_script,
    list_projects_with_scripts,
    release_claim,
    scan_new_funcs,
    scan_new_hangs,
)
from aggregate.sourcemaps.script_locks import lock_scripts
from aggregate.sourcemaps.wildcards import load_covered_funcs
from aggregate.stopping import Stopping, is_stopping
from aggregate.worker_leases import beating, drop_dead_leases, release_surely
from ingest.storage.groups import allocate_ids
from profcore.trace.addresses import WILDCARD

logger = logging.getLogger(__name__)

ISOLATED_MODULE: Final = "aggregate.sourcemaps.map_reader"
MAX_BEGUN: Final = 20  # workers may be restarted while they read a map: that says nothing about the map
MAX_NAME_CHARS: Final = 1_024  # as browsers cut names

# A func's id and its position, line and column from 1.
FuncPlace = tuple[int, int, int]


class ScriptChanged(Exception):
    """The script was uploaded again, deleted or taken over meanwhile; nothing was written."""


def label_all(project_id: int | None = None, *, on_labelled: Callable[[int], object] = lambda _: None) -> int:
    """Labels until no script is pending, or others work on the rest; returns how many funcs were looked at.

    `on_labelled` is called with the number of funcs after each script, or batch of a script.
    """
    drop_dead_leases()
    _scan(project_id)
    count = 0
    while claim := claim_script(project_id=project_id):
        labelled = label_script(claim)
        on_labelled(labelled)
        count += labelled
    return count


def label_in_turn() -> bool:
    """Labels for some seconds, so that a worker also has time for folds; returns whether more may be pending."""
    ends_at = time.monotonic() + settings.SYMBOLICATE_TURN_S
    drop_dead_leases()
    _scan(None)
    while not is_stopping() and (claim := claim_script()):
        label_script(claim)
        if time.monotonic() > ends_at:
            return True
    return False


def _scan(project_id: int | None) -> None:
    for project in list_projects_with_scripts() if project_id is None else [project_id]:
        while place_scripts(project) == BATCH:
            pass  # each has its address then, and there are more
        scan_new_funcs(project)
        scan_new_hangs(project)


def label_script(claim: ScriptClaim) -> int:
    """Labels the next funcs of a claimed script; returns how many. A map that cannot be used is marked failed."""
    if claim.attempts > MAX_BEGUN:
        _mark_failed(claim, f"It was begun {claim.attempts - 1} times, and no worker came back.")
        return 0
    try:
        funcs = load_funcs(claim)
        stacks = (
            load_stacks(claim.project_id, claim.release, claim.uri, is_shared=claim.is_shared)
            if len(funcs) < settings.SYMBOLICATE_BATCH_FUNCS
            else HungStacks(claim.uri, [])
        )
        with beating():
            result = _run(claim, funcs, stacks.calls) if funcs or stacks.calls else MapResult()
        if result.refusal is not None:
            _mark_failed(claim, f"{result.refusal[0]}: {result.refusal[1]}")
            return 0
        _write(claim, funcs, result, stacks)
        SCRIPTS.labels("labelled").inc()
        note("scripts")
    except ScriptChanged:
        SCRIPTS.labels("changed").inc()
        logger.info("Script %s of project %s changed while it was labelled.", claim.script_id, claim.project_id)
        return 0
    except CrashedAlone as crash:
        SCRIPTS.labels("crashed").inc()
        logger.warning("The map of script %s crashed its process (%s).", claim.script_id, crash)
        if claim.attempts >= settings.SYMBOLICATE_ATTEMPTS:
            _mark_failed(claim, f"Reading the map crashed its process {claim.attempts} times: {crash}.")
        else:
            release_claim(claim, is_counted=True)
        return 0
    except Stopping:
        _release(claim)
        return 0
    except BaseException:  # also when this process was told to end
        _release(claim)
        raise
    return len(funcs)


def _release(claim: ScriptClaim) -> None:
    release_surely(lambda: release_claim(claim, is_counted=False))


def load_funcs(claim: ScriptClaim) -> list[FuncPlace]:
    """Returns the next funcs of a script, by id, that have no label of its present map."""
    limit = settings.SYMBOLICATE_BATCH_FUNCS
    if WILDCARD in claim.uri:
        after_id = claim.labelled_func_id
        return load_covered_funcs(claim.project_id, claim.release, claim.uri, after_id=after_id, limit=limit)
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT id, line, col FROM aggregate_func
               WHERE project_id = %s AND md5(uri) = md5(%s) AND uri = %s AND id > %s
                 AND line IS NOT NULL AND col IS NOT NULL
               ORDER BY id LIMIT %s""",
            [claim.project_id, claim.uri, claim.uri, claim.labelled_func_id, limit],
        )
        return list(cursor.fetchall())


def _run(claim: ScriptClaim, funcs: list[FuncPlace], calls: list[CallPlace]) -> MapResult:
    stored = Artifact.objects.filter(project_id=claim.project_id, id__in=[claim.map_id, claim.bundle_id])
    bodies = {artifact_id: bytes(body) for artifact_id, body in stored.values_list("id", "body")}
    if claim.map_id not in bodies:
        raise ScriptChanged
    task = MapTask(
        map=bodies[claim.map_id],
        bundle=None if claim.bundle_id is None else bodies.get(claim.bundle_id),
        file=claim.file,
        positions=[(line, column) for _, line, column in funcs],
        calls=calls,
        memory_bytes=settings.SYMBOLICATE_MEMORY_BYTES,
        cpu_s=settings.SYMBOLICATE_TIMEOUT_S,
    )
    answer = run_alone(ISOLATED_MODULE, msgspec.msgpack.encode(task), timeout_s=settings.SYMBOLICATE_TIMEOUT_S)
    return result_decoder.decode(answer)


def _write(claim: ScriptClaim, funcs: list[FuncPlace], result: MapResult, stacks: HungStacks) -> None:
    is_done = len(funcs) < settings.SYMBOLICATE_BATCH_FUNCS
    last_id = funcs[-1][0] if funcs else claim.labelled_func_id
    with transaction.atomic():
        lock_scripts(claim.project_id)
        with connection.cursor() as cursor:
            # A script that was uploaded again, or has new funcs since, stays pending.
            cursor.execute(
                """UPDATE aggregate_releasescript
                   SET labelled_func_id = %s, claimed_until = NULL, attempts = 0,
                       pending_at = CASE WHEN %s AND pending_at = %s THEN NULL ELSE pending_at END
                   WHERE project_id = %s AND id = %s AND attempts = %s AND claim_token = %s AND map_id = %s
                     AND labelled_func_id = %s""",
                [
                    *(last_id, is_done, claim.pending_at, claim.project_id, claim.script_id),
                    *(claim.attempts, claim.token, claim.map_id, claim.labelled_func_id),
                ],
            )
            if cursor.rowcount != 1:
                raise ScriptChanged
        source_ids = _intern_sources(claim.project_id, result.sources)
        _write_labels(claim, funcs, result, source_ids)
        stacks.write(claim.project_id, result.calls)


def _intern_sources(project_id: int, sources: dict[int, SourceRow]) -> dict[int, int]:
    """Returns the id of each source, storing new ones. Under the project's lock."""
    digests = sorted({row.digest for row in sources.values()})
    source_ids = _select_sources(project_id, digests)
    rows = {row.digest: row for row in sources.values() if row.digest not in source_ids}
    fresh = [rows[digest] for digest in sorted(rows)]
    if fresh:
        ids = allocate_ids(project_id, "source", len(fresh))
        with connection.cursor() as cursor:
            cursor.execute(
                """INSERT INTO aggregate_source (project_id, id, digest, name, path, content, size_bytes)
                   SELECT %s, *
                   FROM unnest(%b::int[], %b::bytea[], %b::text[], %b::text[], %b::bytea[], %b::bigint[])""",
                [
                    project_id,
                    list(ids),
                    [row.digest for row in fresh],
                    [row.name for row in fresh],
                    [row.path for row in fresh],
                    [row.content for row in fresh],
                    [row.size_bytes for row in fresh],
                ],
            )
        source_ids.update(zip((row.digest for row in fresh), ids, strict=True))
    return {index: source_ids[row.digest] for index, row in sources.items()}


def _select_sources(project_id: int, digests: list[bytes]) -> dict[bytes, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT digest, id FROM aggregate_source WHERE project_id = %s AND digest = ANY(%b::bytea[])",
            [project_id, digests],
        )
        return {bytes(digest): source_id for digest, source_id in cursor.fetchall()}


def _write_labels(claim: ScriptClaim, funcs: list[FuncPlace], result: MapResult, source_ids: dict[int, int]) -> None:
    if not funcs:
        return
    rows: list[tuple[Any, ...]] = []  # Any: columns of different types
    for (func_id, _, _), label in zip(funcs, result.labels, strict=True):
        if label is None:
            rows.append((func_id, int(Label.Status.UNMAPPED), *[None] * 9))
        else:
            name = None if label.name is None else label.name.replace("\0", "\ufffd")[:MAX_NAME_CHARS]
            standing = None if label.standing is None else label.standing.replace("\0", "\ufffd")
            text = (label.first_line, label.last_line, label.text_digest)
            place = (source_ids[label.source], label.line, label.column)
            rows.append((func_id, int(Label.Status.MAPPED), *place, name, label.body_hash, standing, *text))
    columns = [list(column) for column in zip(*rows, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO aggregate_label (project_id, release, script_id, map_id, is_shared, func_id, status,
                   source_id, line, col, name, body_hash, standing, first_line, last_line, text_digest)
               SELECT %s, %s, %s, %s, %s, w.* FROM unnest(%b::int[], %b::smallint[], %b::int[], %b::int[], %b::int[],
                   %b::text[], %b::bytea[], %b::text[], %b::int[], %b::int[], %b::bytea[]) AS w
               ON CONFLICT (project_id, func_id, release) DO UPDATE SET
                   script_id = EXCLUDED.script_id, map_id = EXCLUDED.map_id, is_shared = EXCLUDED.is_shared,
                   status = EXCLUDED.status, source_id = EXCLUDED.source_id, line = EXCLUDED.line, col = EXCLUDED.col,
                   name = EXCLUDED.name, body_hash = EXCLUDED.body_hash, standing = EXCLUDED.standing,
                   first_line = EXCLUDED.first_line, last_line = EXCLUDED.last_line,
                   text_digest = EXCLUDED.text_digest""",
            [claim.project_id, claim.release, claim.script_id, claim.map_id, claim.is_shared, *columns],
        )


def _mark_failed(claim: ScriptClaim, why: str) -> None:
    """Marks a script failed: it keeps the reason, and has no labels, until another upload."""
    SCRIPTS.labels("failed").inc()
    logger.error("The map of script %s of project %s failed: %s", claim.script_id, claim.project_id, why)
    with transaction.atomic():
        lock_scripts(claim.project_id)
        with connection.cursor() as cursor:
            cursor.execute(
                """UPDATE aggregate_releasescript SET failure = %s, pending_at = NULL, claimed_until = NULL
                   WHERE project_id = %s AND id = %s AND attempts = %s AND claim_token = %s AND map_id = %s""",
                [why, claim.project_id, claim.script_id, claim.attempts, claim.token, claim.map_id],
            )
            if cursor.rowcount:
                delete_labels(claim.project_id, [claim.script_id])
