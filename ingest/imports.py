"""Imports: a person's file of foreign profiles is stored like posted traces, completely or not at all.

Its envelopes are stored by the endpoint's own statement, so receipts, quotas and folding are the same. Traces that are
stored already change nothing.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from ingest.endpoint.admission import ADMISSION, ALL_PROJECTS, has_quota, quota_of, take_quota
from ingest.endpoint.parsing import make_arrival
from ingest.limits import import_limits
from ingest.notify import notify_worker
from ingest.storage.groups import intern_groups
from ingest.storage.partitions import create_partitions
from ingest.storage.receipt_partitions import NEAR_BORDER
from ingest.storage.storing import Arrival, page_of, store_arrivals
from profcore.errors import Reason, TraceError
from profcore.formats.importers.completing import Defaults
from profcore.formats.importers.containers import show_name
from profcore.formats.importers.registry import Imported, read_file
from profcore.formats.importers.shapes import FileError
from projects.audit.acts import Act
from projects.audit.entries import record
from projects.key_cache import KeyConfig, key_config_of
from projects.lifecycle import hold_project
from projects.models import Project

STATEMENT_TRACES: Final = 100  # per statement, as in the endpoint's batches
STATEMENT_BYTES: Final = 8 * 2**20  # packed
MAX_IMPORT_S: Final = NEAR_BORDER.total_seconds() / 2  # from its time of receipt to its commit
Identity = tuple[UUID, int]
# Names for people of the fields that a file may lack.
FIELD_TITLES: Final = {
    "release": "release",
    "page": "page",
    "timeOrigin": "time",
    "sampleInterval": "sampling interval",
    "viewId": "page view",
}


@dataclass(slots=True, kw_only=True)
class InputReport:
    """Inputs of one format with the same gaps: the number of traces, the first one's place, fields filled and lost."""

    title: str
    place: str
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    traces: int = 0

    @property
    def missing_words(self) -> str:
        """The fields that the inputs lack, for people."""
        return ", ".join(FIELD_TITLES[name] for name in self.missing)


@dataclass(slots=True, kw_only=True)
class FileReport:
    """The result for a file. `known` of its `traces` were stored before; `clamped` had a start that is too old."""

    name: str
    traces: int = 0
    known: int = 0
    clamped: int = 0
    inputs: list[InputReport] = field(default_factory=list)

    def count(self, imported: Imported) -> None:
        """Adds one trace."""
        completed = imported.completed
        self.traces += 1
        for known in self.inputs:
            if (known.title, known.missing, known.notes) == (
                imported.importer.title,
                completed.missing,
                completed.notes,
            ):
                known.traces += 1
                return
        title = imported.importer.title
        self.inputs.append(
            InputReport(title=title, place=imported.place, missing=completed.missing, notes=completed.notes, traces=1)
        )


def import_file(
    *,
    project: Project,
    name: str,
    body: bytes,
    release: str | None,
    page: str | None,
    now: datetime,
    dry_run: bool = False,
    show: Callable[[int], object] = lambda count: None,
) -> FileReport:
    """Imports every trace of a file into a project, or none; returns the result. `show` is called for each trace.

    `release` and `page` are for traces whose file names none; `now` is the time of traces without one. Raises
    `FileError` with the place of the first fault, and `django.db.Error` if the database does not answer.
    """
    name = show_name(name)
    report = FileReport(name=name)
    began_s = time.monotonic()
    defaults = Defaults(release or None, page or None, now.timestamp() * 1000)
    arrivals: dict[Identity, Arrival] = {}
    oldest_ms = (now - timedelta(days=settings.VIEW_START_MAX_AGE_DAYS)).timestamp() * 1000
    for imported in read_file(name, body, defaults, import_limits()):
        report.count(imported)
        arrival = make_arrival(report.traces - 1, imported.completed)  # packed: a file may have thousands
        envelope = arrival.envelope
        report.clamped += arrival.started_ms < oldest_ms
        arrivals.setdefault((envelope.viewId, envelope.seq), arrival)
        show(1)
    if not report.traces:
        raise FileError(name, TraceError(Reason.EMPTY_BODY, "$", "There are no traces in it."))
    known = _find_known(project.pk, list(arrivals))
    report.known = report.traces - len(arrivals) + len(known)
    if not dry_run:
        new = [arrivals[identity] for identity in sorted(arrivals.keys() - known)]
        _store(project, name, new, now, began_s)
    return report


def _find_known(project_id: int, identities: Sequence[Identity]) -> set[Identity]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT r.view_id, r.seq FROM ingest_tracereceipt r
               JOIN unnest(%s::uuid[], %s::int[]) AS w (view_id, seq) ON (r.view_id, r.seq) = (w.view_id, w.seq)
               WHERE r.project_id = %s""",
            [[view for view, _ in identities], [seq for _, seq in identities], project_id],
        )
        return set(cursor.fetchall())


def _store(project: Project, name: str, arrivals: Sequence[Arrival], now: datetime, began_s: float) -> None:
    """Stores arrivals, sorted by identity, in one transaction. Raises `FileError` if the project has no room.

    Also if the import has taken too long since `began_s`: what is posted next to it would not know of it any more.
    """
    if not arrivals:
        return
    key = key_config_of(project)
    if not hold_project(project.pk):  # before pages are made for it
        raise _refused_in_deletion(name)
    if key.is_archived:
        raise _refused(name, Reason.PROJECT_ARCHIVED, "The project is archived, and accepts no traces.")
    if not ADMISSION.has_room(project.pk):
        raise _refused(name, Reason.TOO_MANY_PENDING, "Too many traces of this project wait to be folded.")
    if not ADMISSION.has_room(ALL_PROJECTS):
        raise _refused(name, Reason.UNAVAILABLE, "The server has no room for more traces at the moment.")
    full = ADMISSION.find_full_quota(key, now)
    if full is not None:
        raise _refused(name, Reason.QUOTA_EXCEEDED, full)
    # Checked before thousands of rows are written in vain and pages are created. The call of `take_quota` decides.
    if not has_quota(key, len(arrivals), now):
        raise _beyond_quota(name, key, len(arrivals))
    # Before the transaction: the process caches ids of groups, and a rollback would remove these groups again.
    wanted = [(arrival.envelope.release, page_of(arrival.envelope, key.route_rules)) for arrival in arrivals]
    if not intern_groups(project.pk, wanted, overflows=False).keys() >= set(wanted):
        detail = f"The project has {settings.INGEST_MAX_GROUPS} pages × releases; route rules keep them few."
        raise _refused(name, Reason.TOO_MANY_PAGES, detail)
    create_partitions(now.date(), 1)  # the endpoint does it after a failed statement, which would end the transaction
    with transaction.atomic():
        if not hold_project(project.pk):
            raise _refused_in_deletion(name)
        for batch in _batches(arrivals):
            store_arrivals(key=key, arrivals=batch, received_at=now, alone=True)
        # Last, because the day's row stays locked until the commit, and every post of the project waits for it.
        if take_quota(key, len(arrivals), now) < len(arrivals):
            raise _beyond_quota(name, key, len(arrivals))
        record(Act.TRACES_IMPORTED, project=project, file=name, traces=len(arrivals))
        if time.monotonic() - began_s > MAX_IMPORT_S:
            raise _refused(name, Reason.UNAVAILABLE, "The import took longer than an hour. Import it in parts.")
    notify_worker()


def _batches(arrivals: Sequence[Arrival]) -> Iterator[list[Arrival]]:
    batch: list[Arrival] = []
    size = 0
    for arrival in arrivals:
        if batch and (len(batch) == STATEMENT_TRACES or size + len(arrival.body) > STATEMENT_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(arrival)
        size += len(arrival.body)
    yield batch


def _beyond_quota(name: str, key: KeyConfig, count: int) -> FileError:
    detail = f"The project may take {quota_of(key)} traces a day (UTC), with no room for {count} more."
    return _refused(name, Reason.QUOTA_EXCEEDED, detail)


def _refused_in_deletion(name: str) -> FileError:
    return _refused(name, Reason.PROJECT_ARCHIVED, "The project is being deleted, and accepts no traces.")


def _refused(name: str, reason: Reason, detail: str) -> FileError:
    return FileError(name, TraceError(reason, "$", detail))
