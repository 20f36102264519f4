"""Which days of a project's history are written: those that are folded, and that changed since they were written.

A day that has left the database by its retention stays in the history as it was.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Final

from django.conf import settings

from aggregate.history.columns import CELLS, SCHEMA
from aggregate.history.days import write_day
from aggregate.history.folder import HistoryError, HistoryFolder, Manifest
from aggregate.history.source import DaySource, list_day_sources, list_pending_days, open_snapshot
from profcore.times import DAY, HOUR, bounds_of_day, midnight_days_before, midnight_hours_before
from projects.models import Project

# Cells expire at midnight by the clock of another host. Near it, a day is not written any more.
CLOCK_MARGIN: Final = HOUR


@dataclass(slots=True, kw_only=True)
class Exported:
    """What an export did, by day. `left_out` and `failed` say why."""

    written: dict[date, Manifest] = field(default_factory=dict)
    unchanged: list[date] = field(default_factory=list)
    removed: list[date] = field(default_factory=list)
    kept: list[date] = field(default_factory=list)
    left_out: dict[date, str] = field(default_factory=dict)
    failed: dict[date, str] = field(default_factory=dict)


def last_folded_day(now: datetime) -> date:
    """Returns the last day whose hours are old enough to be merged."""
    return (midnight_hours_before(now, settings.MERGE_AFTER_HOURS) - DAY).date()


def _utc_now() -> datetime:
    return datetime.now(UTC)


def export_days(
    project: Project,
    folder: HistoryFolder,
    first: date | None,
    last: date,
    *,
    again: bool = False,
    on_day: Callable[[date, str], object] = lambda _day, _words: None,
    clock: Callable[[], datetime] = _utc_now,
) -> Exported:
    """Writes the days from `first` to `last`, both included, that are new or changed; with `again`, all of them.

    `on_day` is called with what was done to each day. Raises `HistoryError`.
    """
    exported = Exported()
    with folder.lock():
        manifests = folder.read_manifests()
        if any(manifest.project_id != project.pk for manifest in manifests.values()):
            raise HistoryError(f"the folder has days of another project that was called {project.slug}.")
        pending = list_pending_days(project.pk)
        sources = {source.day: source for source in list_day_sources(project.pk, first, last)}
        for day in sorted({*sources, *(day for day in manifests if (first or day) <= day <= last)}):
            work = _Work(project=project, folder=folder, exported=exported, manifest=manifests.get(day), clock=clock)
            on_day(day, work.do(day, sources.get(day), is_pending=day in pending, again=again))
        for day in folder.days_without_manifest():
            if (first or day) <= day <= last and day not in exported.left_out and day not in exported.failed:
                exported.failed[day] = "its files have no manifest, and the database has no such day any more"
    return exported


@dataclass(slots=True, kw_only=True)
class _Work:
    project: Project
    folder: HistoryFolder
    exported: Exported
    manifest: Manifest | None
    clock: Callable[[], datetime]

    def do(self, day: date, source: DaySource | None, *, is_pending: bool, again: bool) -> str:
        """Does what a day needs, and returns it as words."""
        exported, manifest = self.exported, self.manifest
        is_whole = manifest is not None and self.folder.is_whole(day, manifest)
        if source is None or (manifest is not None and _has_lost(manifest, source)):
            return self._keep(day, is_whole=is_whole)
        if manifest is None and source.traces == 0:
            return "empty"
        if not again and is_whole and manifest is not None and _is_same(manifest, source):
            exported.unchanged.append(day)
            return "unchanged"
        if source.has_hours or is_pending:
            why = "traces of it are pending" if is_pending else "its hours are not merged into days yet"
            exported.left_out[day] = why
            return f"left out: {why}"
        try:
            return self._write(day)
        except HistoryError as error:
            exported.failed[day] = str(error)
            return f"failed: {error}"

    def _keep(self, day: date, *, is_whole: bool) -> str:
        """Leaves a day as it was written, because the database has less of it or nothing."""
        if not is_whole:
            self.exported.failed[day] = "a file of it is missing or damaged, and its cells have expired"
            return f"failed: {self.exported.failed[day]}"
        self.exported.kept.append(day)
        return "kept: its cells have expired"

    def _write(self, day: date) -> str:
        with open_snapshot(self.project.pk, day) as snapshot:
            source = snapshot.source()
            keep_days = snapshot.keep_cells_days() or settings.KEEP_CELLS_DAYS
            if source is None or bounds_of_day(day)[0] < midnight_days_before(self.clock() + CLOCK_MARGIN, keep_days):
                return "left out: its cells expire now"
            if source.traces == 0:
                self.folder.remove(day)
                self.exported.removed.append(day)
                return "removed: all its views were erased"
            manifest = write_day(self.folder, snapshot, source, self.project.pk)
        self.exported.written[day] = manifest
        counts = ", ".join(f"{file.rows:,} {name.replace('_', ' ')}" for name, file in manifest.files.items())
        return f"{manifest.files[CELLS.name].sums['views']:,} views: {counts}; {manifest.size_bytes / 1e6:.2f} MB"


def _is_same(manifest: Manifest, source: DaySource) -> bool:
    return (manifest.schema, manifest.cells, manifest.digest) == (SCHEMA, source.cells, source.digest)


def _has_lost(manifest: Manifest, source: DaySource) -> bool:
    """Returns whether cells of a written day have expired. An erased view leaves its cell; new ids are higher."""
    return source.cells < manifest.cells or source.first_cell > manifest.first_cell
