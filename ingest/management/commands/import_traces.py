"""`import_traces FILE… --project SLUG`: imports foreign profiles, each file completely or not at all."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from ingest.imports import FileReport, import_file
from profcore.formats.importers.registry import IMPORTERS
from profcore.formats.importers.shapes import FileError
from projects.models import Project


class Command(BaseCommand):
    help = (
        "Import profiles into a project: "
        + ", ".join(importer.title for importer in IMPORTERS)
        + "; several of them in a zip, a JSON array or NDJSON, gzip or not. A file is imported completely or not at "
        "all; traces that are stored already change nothing. The exit code is 1 if a file was not imported."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parser.add_argument("--project", required=True, metavar="SLUG", help="the project")
        parser.add_argument("--release", help="the release of traces whose file names none")
        parser.add_argument("--page", help="the page (its route) of traces whose file names none")
        parser.add_argument("--dry-run", action="store_true", help="read and check everything, store nothing")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r}.")
        failed = 0
        for path in options["files"]:
            try:
                report = self.import_path(project, path, options)
            except FileError as error:
                failed += 1
                self.stderr.write(f"{error} [{error.reason}]")
            except OSError as error:
                failed += 1
                self.stderr.write(f"{path} cannot be read: {error.strerror}.")
            else:
                self.stdout.write("\n".join(describe(report, dry_run=options["dry_run"])))
        if failed:
            raise CommandError(f"{failed} of {len(options['files'])} files were not imported.")

    def import_path(self, project: Project, path: Path, options: dict[str, Any]) -> FileReport:
        with path.open("rb") as file:
            # With one byte more than allowed, the limit's own sentence refuses the file.
            body = file.read(settings.IMPORT_MAX_FILE_BYTES + 1)
        with tqdm(desc=path.name, unit=" traces", file=sys.stderr, disable=None, mininterval=0.5) as bar:
            return import_file(
                project=project,
                name=path.name,
                body=body,
                release=options["release"],
                page=options["page"],
                now=datetime.now(UTC),
                dry_run=options["dry_run"],
                show=bar.update,
            )


def describe(report: FileReport, *, dry_run: bool) -> list[str]:
    """Returns the lines of the result for a file."""
    known = f", {report.known} of them stored already" if report.known else ""
    lines = [f"{report.name}: {_traces(report.traces)}{' could come in' if dry_run else ''}{known}"]
    for inputs in report.inputs:
        lines.append(f"  {_traces(inputs.traces)} from {inputs.title} ({inputs.place})")
        if inputs.missing:
            lines.append(f"    missing there: {inputs.missing_words}")
        lines += [f"    {note}" for note in inputs.notes]
    if report.clamped:
        days = settings.VIEW_START_MAX_AGE_DAYS
        lines.append(f"  {_traces(report.clamped)} from before the last {days} days: counted as {days} days old")
    return lines


def _traces(count: int) -> str:
    return f"{count} trace" if count == 1 else f"{count} traces"
