"""Recomputes views, cells, hotspots and call trees from raw traces."""

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from aggregate.refolding import Outcome, Scope, finish_run, list_cells, reset_cell, start_run
from aggregate.services import BatchOutcome, fold_pending_batch
from ingest.models import Project

EXIT_KEPT = 3
FOLD_AFTER_CELLS = 20  # cells set back before their traces are folded: what is read meanwhile lacks few


class Command(BaseCommand):
    help = (
        "Recomputes views, cells, hotspots and call trees of a project from its raw traces: one release, a time range, "
        "or everything. A killed run goes on where it was when the same command is given again. Cells of which raw "
        f"traces or views have expired are kept as they are. Exit status: 0 all refolded, {EXIT_KEPT} some cells kept, "
        "1 an error."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG", help="the project")
        parser.add_argument("--release", help="only this release")
        parser.add_argument("--from", dest="from_at", type=read_instant, metavar="TIME", help="cells from here on")
        parser.add_argument("--to", dest="to_at", type=read_instant, metavar="TIME", help="cells before this")
        parser.add_argument("--no-fold", action="store_true", help="set back only; leave the folding to the workers")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r}.")
        run = start_run(Scope(project.pk, options["release"], options["from_at"], options["to_at"]))
        cells = list_cells(run)
        done = run.cells + run.kept_cells
        for number, (cell_id, group_id) in enumerate(tqdm(cells, unit="cell", desc="refold", disable=None), start=1):
            outcome = reset_cell(run, cell_id, group_id)
            if outcome is Outcome.RESET and number % FOLD_AFTER_CELLS == 0 and not options["no_fold"]:
                fold_pending()
        if not options["no_fold"]:
            fold_pending()
        finish_run(run)
        before = f" ({done} by an earlier start)" if done else ""
        self.stdout.write(f"{run.cells} cells refolded, {run.kept_cells} kept as they are{before}.")
        if run.kept_cells:
            raise CommandError("Some cells' raw traces or views have expired; they were kept.", returncode=EXIT_KEPT)


def fold_pending() -> None:
    """Folds until nothing waits; workers may take part."""
    while fold_pending_batch() is not BatchOutcome.NOTHING_PENDING:
        pass


def read_instant(text: str) -> datetime:
    """Reads ISO 8601; without a zone it is UTC."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
