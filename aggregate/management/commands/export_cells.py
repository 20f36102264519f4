"""Writes folded days of a project as Parquet files."""

import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from aggregate.history.exporting import Exported, export_days, last_folded_day
from aggregate.history.folder import HistoryError, HistoryFolder
from aggregate.history.parquet import MISSING, is_installed
from projects.models import Project

EXIT_LEFT_OUT = 3


def _read_day(name: str, text: str | None) -> date | None:
    """Returns the day that an option names, None if it is not given."""
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise CommandError(f"{name} must be a day such as 2026-11-01, not {text[:80]!r}.") from None


class Command(BaseCommand):
    help = (
        "Write folded UTC days of a project as Parquet files, which DuckDB, pandas and Polars read "
        "(docs/history.md). A day is written again only if its sums have changed. Exit status: 0 all days are written, "
        f"{EXIT_LEFT_OUT} some days are not folded yet and were left out, 1 something failed."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG", help="the project")
        parser.add_argument("--to", required=True, type=Path, metavar="FOLDER", help="the folder of the history")
        parser.add_argument("--from", dest="first", metavar="DAY", help="the first day (default: the oldest)")
        parser.add_argument("--until", dest="last", metavar="DAY", help="the last day (default: the last folded one)")
        parser.add_argument(
            "--again", action="store_true", help="write all these days anew: with names from source maps that came late"
        )

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        if not is_installed():
            raise CommandError(f"export_cells: {MISSING}")
        project = Project.objects.filter(slug=options["project"], deletion_started_at=None).first()
        if project is None:
            raise CommandError(f"--project: there is no project {options['project'][:80]!r}.")
        first, last = _read_day("--from", options["first"]), _read_day("--until", options["last"])
        folded = last_folded_day(datetime.now(UTC))
        if last is not None and last > folded:
            raise CommandError(f"--until: {last} is not folded yet; the last folded day is {folded}.")
        last = last or folded
        if first is not None and first > last:
            raise CommandError(f"--from: {first} is later than the last day, {last}.")
        root: Path = options["to"]
        try:
            with tqdm(desc="Days", unit="day", file=sys.stderr, disable=None) as bar:

                def tell(day: date, outcome: str) -> None:
                    bar.update()
                    if outcome not in ("unchanged", "empty"):
                        bar.write(f"{day}  {outcome}", file=self.stdout)

                folder = HistoryFolder(root, project.slug)
                exported = export_days(project, folder, first, last, again=options["again"], on_day=tell)
        except HistoryError as error:
            raise CommandError(f"--to {root}: {error}") from None
        except OSError as error:
            raise CommandError(f"--to {root}: {error.strerror}: {error.filename or root}.") from None
        self.report(root, exported)

    def report(self, root: Path, exported: Exported) -> None:
        """Says what was done, and fails if something was."""
        size = sum(manifest.size_bytes for manifest in exported.written.values())
        self.stdout.write(
            f"{len(exported.written)} days written ({size / 1e6:.1f} MB), {len(exported.unchanged)} unchanged, "
            f"{len(exported.removed)} removed, {len(exported.kept)} kept though their cells have expired, "
            f"{len(exported.left_out)} left out, {len(exported.failed)} failed: {root}"
        )
        if exported.failed:
            day, why = next(iter(exported.failed.items()))
            raise CommandError(f"{len(exported.failed)} days failed, the first {day}: {why}")
        if exported.left_out:
            raise CommandError("Give the command again for the days that were left out.", returncode=EXIT_LEFT_OUT)
