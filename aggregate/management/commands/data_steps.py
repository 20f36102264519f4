"""Shows and runs the data steps of this release."""

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from aggregate.models import DataStep
from aggregate.upkeep.data_steps import list_steps, run_data_steps


class Command(BaseCommand):
    help = (
        "List the data steps of this release, which move rows for a change of the schema. Beat runs them; --run runs "
        "them here until they are done. A killed one goes on where it was. Exit status 0."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--run", action="store_true", help="run them until they are done")
        parser.add_argument("--pause", metavar="NAME", help="pause this one")
        parser.add_argument("--resume", metavar="NAME", help="let this one go on")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        now = datetime.now(UTC)
        for name, at in ((options["pause"], now), (options["resume"], None)):
            if name:
                DataStep.objects.update_or_create(
                    name=name, defaults={"paused_at": at}, create_defaults={"paused_at": at, "started_at": now}
                )
        if options["run"]:
            run_data_steps(now)
        for step, row in list_steps():
            self.stdout.write(f"{step.name}: {describe(row)}. {step.why}")
        if not list_steps():
            self.stdout.write("This release has no data steps.")


def describe(row: DataStep | None) -> str:
    """Returns how far a step is."""
    if row is None:
        return "not begun"
    state = "done" if row.finished_at else "paused" if row.paused_at else "under way"
    return f"{state}, {row.rows:,} rows"
