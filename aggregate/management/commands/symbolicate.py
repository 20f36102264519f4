"""`symbolicate --project P`: labels the functions of pending scripts, here and now."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from aggregate.label_models import ReleaseScript
from aggregate.sourcemaps.labelling import label_all
from aggregate.sourcemaps.queue import count_pending, mark_all, scan_new_funcs
from projects.models import Project


class Command(BaseCommand):
    help = (
        "Label the functions of a project by its source maps. Workers do this by themselves, within seconds after an "
        "upload or a new function. This command does it here, and may run at the same time. Exit status: 0 done, 1 an "
        "error or a map that failed."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG", help="the project")
        parser.add_argument("--anew", action="store_true", help="label everything again, also by maps that failed")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r}.")
        if options["anew"]:
            mark_all(project.pk)
        scan_new_funcs(project.pk)
        scripts, funcs = count_pending(project.pk)
        with tqdm(total=funcs, unit="func", desc="symbolicate", file=sys.stderr, disable=None) as bar:
            labelled = label_all(project.pk, on_labelled=bar.update)
        self.stdout.write(f"{labelled} functions of {scripts} scripts labelled.")
        failed = ReleaseScript.objects.filter(project=project).exclude(failure=None).order_by("id")
        for script in failed:
            self.stdout.write(f"{script.release} {script.uri}: failed: {script.failure}")
        if failed:
            raise CommandError(f"{len(failed)} maps failed.")
