"""Erases page views by their ids."""

from dataclasses import asdict
from functools import partial
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from aggregate.upkeep.erasing import Erasure, erase_view
from ingest.audit.acts import Act
from ingest.audit.entries import record
from ingest.models import Project

EXIT_KEPT = 3


def _note(project: Project, group: Erasure) -> None:
    """Writes an erased group to the log of administration, in its transaction."""
    record(Act.ERASURE_FINISHED, project=project, **asdict(group))


class Command(BaseCommand):
    help = (
        "Erase page views: their receipts, raw traces and contributions, and their part of all sums. Exit status: 0 "
        f"erased, {EXIT_KEPT} erased, but their part of some sums or call trees could not be found and stays, 1 no "
        "such view."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG", help="the project")
        parser.add_argument("view_id", nargs="+", type=UUID, help="the id of a view")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r}.")
        is_kept = False
        for view_id in options["view_id"]:
            erasure = erase_view(project.pk, view_id, on_group=partial(_note, project))
            if not erasure.traces and not erasure.views:
                raise CommandError(f"There is no view {view_id}.")
            is_kept = is_kept or bool(erasure.kept_sums or erasure.kept_trees)
            self.stdout.write(
                f"{view_id}: {erasure.traces} traces erased, {erasure.kept_sums} sums and {erasure.kept_trees} call "
                "trees kept."
            )
        if is_kept:
            raise CommandError("What was kept holds no view id; it goes when its cells expire.", returncode=EXIT_KEPT)
