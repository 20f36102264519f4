"""Checks of the object store: that it answers, that its bucket is the right one, and that erased bytes leave it."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Final
from uuid import uuid4

from django.conf import settings
from django.db import connection

from aggregate.doctor.findings import Finding, ok, problem, warning
from ingest.storage.packs.mark import Standing, read_standing
from ingest.storage.packs.store import BodiesUnavailable, open_store

PROBE: Final = "fieldflame-probe"
LATE_S: Final = 900.0  # maintenance looks every minute; a restart or a long turn takes some
SLOW_MS: Final = 500.0  # of a write: posts wait for it


def check_objects(_: datetime) -> Iterator[Finding]:
    """Yields what is wrong with the object store. Nothing if no body lies in one, and none will."""
    packs, oldest_s = _look_at_packs()
    if not settings.OBJECTS:
        if packs:
            yield problem(
                "objects",
                "Bodies of traces lie in an object store, and no setting says where: they are not read, not deleted.",
                line="FIELDFLAME_OBJECTS=s3://…",
            )
        return
    try:
        yield from judge_objects(
            standing=read_standing(), has_packs=packs, write_ms=_try_store(), late_s=oldest_s - settings.PACK_SWEEP_S
        )
    except BodiesUnavailable as error:
        what = "Posts are answered 503. " if settings.OBJECTS_PUT else ""
        yield problem("objects", f"{what}Folding waits: {error}.")


def judge_objects(*, standing: Standing, has_packs: bool, write_ms: float, late_s: float) -> Iterator[Finding]:
    if standing is Standing.NONE and has_packs:
        yield problem("objects", "The bucket is not the one that has the bodies of traces: it has no mark of ours.")
    elif standing is Standing.OTHERS:
        yield warning(
            "objects",
            "The bucket is marked as another database's, so nothing is deleted from it, erased views neither. If that "
            "database is gone, take the bucket over.",
            line="./run tidy_packs --take-over",
        )
    elif late_s >= LATE_S:
        yield warning(
            "objects",
            f"Erased or expired bytes have waited for {late_s / 60:,.0f} minutes to leave the object store: see the "
            "log of the workers that do the maintenance.",
        )
    elif write_ms >= SLOW_MS:
        yield warning(
            "objects", f"The object store took {write_ms:,.0f} ms for a small object. Each post waits so long."
        )
    else:
        yield ok("objects", f"The object store answers, a small object took {write_ms:,.0f} ms.")


def _try_store() -> float:
    """Writes, reads and deletes a small object; returns the milliseconds that writing took."""
    store, name = open_store(), f"{PROBE}-{uuid4()}"
    began_s = time.perf_counter()
    store.put(name, b"probe")
    took_ms = 1_000 * (time.perf_counter() - began_s)
    store.read(name)
    store.delete([name])
    return took_ms


def _look_at_packs() -> tuple[bool, float]:
    """Returns whether bodies lie in packs, and for how many seconds the oldest work on them has waited."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT EXISTS (SELECT 1 FROM ingest_pack WHERE doomed_at IS NULL),
                      coalesce(extract(epoch FROM now() - least(
                   (SELECT min(tidy_at) FROM ingest_pack WHERE tidy_at IS NOT NULL),
                   (SELECT min(doomed_at) FROM ingest_pack WHERE doomed_at IS NOT NULL AND deleted_at IS NULL))), 0)"""
        )
        row = cursor.fetchone()
    assert row is not None
    return bool(row[0]), float(row[1])
