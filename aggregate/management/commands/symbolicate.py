"""`symbolicate --project P`: labels what waits for it, now and here."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from aggregate.label_models import ReleaseScript
from aggregate.sourcemaps.labelling import label_all
from aggregate.sourcemaps.queue import count_waiting, mark_all, scan_new_funcs
from ingest.models import Project


class Command(BaseCommand):
    help = (
        "Label the functions of a project by its source maps. Workers do so by themselves, within seconds of an upload "
        "or of a new function; this does it here, and may run beside them. Exit status: 0 done, 1 an error or a map "
        "that was set aside."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG", help="the project")
        parser.add_argument("--anew", action="store_true", help="everything again, also maps that were set aside")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r}.")
        if options["anew"]:
            mark_all(project.pk)
        scan_new_funcs(project.pk)
        scripts, funcs = count_waiting(project.pk)
        with tqdm(total=funcs, unit="func", desc="symbolicate", file=sys.stderr, disable=None) as bar:
            labelled = label_all(project.pk, on_labelled=bar.update)
        self.stdout.write(f"{labelled} functions of {scripts} scripts labelled.")
        failed = ReleaseScript.objects.filter(project=project).exclude(failure=None).order_by("id")
        for script in failed:
            self.stdout.write(f"{script.release} {script.uri}: set aside: {script.failure}")
        if failed:
            raise CommandError(f"{len(failed)} maps are set aside.")
