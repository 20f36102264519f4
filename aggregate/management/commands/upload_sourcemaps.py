"""`upload_sourcemaps --project P --release R --url-prefix URL DIR`: stores a build's scripts and source maps."""

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from aggregate.sourcemaps.archives import ArchiveError, list_folder
from aggregate.sourcemaps.coverage import Coverage, select_coverage
from aggregate.sourcemaps.uploading import UploadError, UploadReport, store_build
from profcore.symbolicate.builds import is_bundle, is_map
from projects.models import Project

EXIT_REJECTED: Final = 3
MAX_NAME_CHARS: Final = 200


class Command(BaseCommand):
    help = (
        "Store the scripts (.js, .mjs, .cjs) and source maps of a build folder for a release, so that functions get "
        "their original names and places. Maps are matched by debug id, else by sourceMappingURL, else by file name; "
        "inline maps are used too. The same upload again changes nothing; another map for the same URL replaces the "
        f"first. Exit status: 0 all stored, {EXIT_REJECTED} some files were left out, 1 an error."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR", help="the build folder")
        parser.add_argument("--project", required=True, metavar="SLUG", help="the project")
        parser.add_argument("--release", required=True, help="the release, as the snippet sends it")
        parser.add_argument(
            "--url-prefix",
            required=True,
            action="append",
            metavar="URL",
            help="where the folder is served, such as https://shop.example/; repeat it for each host",
        )

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r}.")
        if not options["folder"].is_dir():
            raise CommandError(f"{options['folder']} is not a folder.")
        try:
            files = list_folder(options["folder"])
            count = sum(is_bundle(file.path) or is_map(file.path) for file in files)
            with tqdm(total=count, unit="file", desc="upload", file=sys.stderr, disable=None) as bar:
                report = store_build(
                    project.pk,
                    release=options["release"],
                    url_prefixes=options["url_prefix"],
                    files=files,
                    on_file=lambda _: bar.update(),
                )
        except ArchiveError as error:
            raise CommandError(str(error)) from None
        except UploadError as error:
            raise CommandError(f"--{error.field.replace('_', '-')}: {error.detail}") from None
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read: {error.strerror}.") from None
        coverage = select_coverage(project.pk, options["release"], options["url_prefix"])
        self.stdout.write("\n".join([*describe(report), *describe_coverage(coverage)]))
        if report.rejected:
            raise CommandError(f"{len(report.rejected)} files were left out.", returncode=EXIT_REJECTED)


def describe(report: UploadReport) -> list[str]:
    """Returns the lines of a table of scripts with their maps, the files left out, and a summary."""
    width = max((len(script.file) for script in report.scripts), default=0)
    lines = [f"{script.file:{width}}  {script.match:18} {script.map or '-'}" for script in report.scripts]
    lines += [
        f"{script.file}: its sourceMappingURL names {visible_name(script.missing_map)}, which is not in the folder."
        for script in report.scripts
        if script.missing_map is not None
    ]
    lines += [f"{bad.file}: left out: {bad.path}: {bad.detail}" for bad in report.rejected]
    counts = Counter(script.match for script in report.scripts)
    kinds = ", ".join(f"{count} by {match}" if match in BY else f"{count} {match}" for match, count in counts.items())
    lines.append(f"{len(report.scripts)} scripts ({kinds}), {report.new_files} files new.")
    return lines


def describe_coverage(coverage: Coverage) -> list[str]:
    """Returns the lines that say how many functions get names, and at which address the files would match."""
    lines = [coverage.sentence]
    if coverage.suggested:
        lines.append(f"The files match there: repeat with --url-prefix {shlex.quote(coverage.suggested)}")
    return lines


def visible_name(name: str) -> str:
    """Returns the start of a name from a file, safe for a terminal."""
    return "".join(char if char.isprintable() else "\ufffd" for char in name[:MAX_NAME_CHARS])


BY: Final = ("debug id", "sourceMappingURL", "file name")
