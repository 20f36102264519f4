"""Recomputes views, cells, hotspots and call trees from raw traces."""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from aggregate.fold.pending import BatchOutcome, fold_pending_batch
from aggregate.maintenance.background_refold import list_background_runs, set_paused
from aggregate.maintenance.refolding import CellOutcome, Scope, finish_run, list_cells, list_runs, reset_cell, start_run
from aggregate.models import RefoldRun
from projects.models import Project

EXIT_KEPT = 3
FOLD_AFTER_CELLS = 20  # cells whose sums are taken back before their traces are folded: pages lack few meanwhile


class Command(BaseCommand):
    help = (
        "Recompute views, cells, hotspots and call trees of a project from its raw traces: one release, a time range, "
        "or everything. The same command continues a killed run. Cells whose raw traces or views have expired are kept "
        f"as they are. Exit status: 0 all refolded, {EXIT_KEPT} some cells kept, 1 an error."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG", help="the project")
        parser.add_argument("--release", help="only this release")
        parser.add_argument(
            "--from", dest="from_at", type=read_instant, metavar="TIME", help="only cells from this time on"
        )
        parser.add_argument("--to", dest="to_at", type=read_instant, metavar="TIME", help="only before this time")
        parser.add_argument("--list", action="store_true", help="only list the refolds so far, the latest first")
        parser.add_argument("--pause", action="store_true", help="pause the background refold that newer rules started")
        parser.add_argument("--resume", action="store_true", help="let a paused background refold go on")
        parser.add_argument("--no-fold", action="store_true", help="only take the sums back; the workers fold")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r}.")
        if options["list"]:
            self.list_runs(list_runs(project.pk))
            return
        if options["pause"] or options["resume"]:
            self.set_paused(project, is_paused=options["pause"])
            return
        run = start_run(Scope(project.pk, options["release"], options["from_at"], options["to_at"]))
        self.run(run, list_cells(run), is_folding=not options["no_fold"])
        self.stdout.write(f"{run.cells} cells refolded, {run.kept_cells} kept as they are.")
        if run.kept_cells:
            raise CommandError("Some cells' raw traces or views have expired; they were kept.", returncode=EXIT_KEPT)

    def run(self, run: RefoldRun, cells: list[tuple[int, int]], *, is_folding: bool) -> None:
        done = run.cells + run.kept_cells
        if done or run.last_cell_id:
            self.stdout.write(
                f"Going on with the refold that was started at {show_instant(run.started_at)}: {done} cells are done, "
                f"{len(cells)} are left."
            )
        with tqdm(total=done + len(cells), initial=done, unit="cell", desc="refold", disable=None) as bar:
            for number, (cell_id, group_id) in enumerate(cells, start=1):
                outcome = reset_cell(run, cell_id, group_id)
                if outcome is CellOutcome.RESET and number % FOLD_AFTER_CELLS == 0 and is_folding:
                    fold_pending()
                bar.update()
        if is_folding:
            fold_pending(shows_progress=True)
        finish_run(run)

    def set_paused(self, project: Project, *, is_paused: bool) -> None:
        runs = list_background_runs(project.pk)
        if not runs:
            raise CommandError("No background refold is under way in this project.")
        for run in runs:
            set_paused(run, datetime.now(UTC) if is_paused else None)
        self.stdout.write("Paused. Hours that wait for it are not merged." if is_paused else "It goes on.")

    def list_runs(self, runs: list[RefoldRun]) -> None:
        for run in runs:
            limits = {"release": run.release, "from": run.from_at, "to": run.to_at}
            texts = {k: show_instant(v) if isinstance(v, datetime) else v for k, v in limits.items() if v is not None}
            scope = ", ".join(f"{name} {text}" for name, text in texts.items()) or "everything"
            end = f"finished {show_instant(run.finished_at)}" if run.finished_at else describe_unfinished(run)
            self.stdout.write(
                f"{show_instant(run.started_at)}  {end}  {scope}: {run.cells} cells refolded, {run.kept_cells} kept."
            )
        if not runs:
            self.stdout.write(f"No refold within {settings.KEEP_REFOLD_RUNS_DAYS} days.")


def fold_pending(*, shows_progress: bool = False) -> None:
    """Folds until nothing is pending; workers may take part. `shows_progress` adds a bar of batches."""
    with tqdm(unit="batch", desc="fold", disable=None if shows_progress else True) as bar:
        while fold_pending_batch() is not BatchOutcome.NOTHING_PENDING:
            bar.update()


def describe_unfinished(run: RefoldRun) -> str:
    """Returns how far a run is: of one in the background the part that is done."""
    if not run.is_background:
        return "not finished"
    state = "paused" if run.paused_at else "in the background"
    return f"{state}, {run.cells + run.kept_cells} of {run.total_cells} cells done"


def show_instant(at: datetime) -> str:
    """Returns a time to the second, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


def read_instant(text: str) -> datetime:
    """Returns the time of an ISO 8601 text; without a zone it is UTC."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
