"""Writes a slice as a profile, to a file or to standard output."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from aggregate.selectors import SliceError, SliceQuery, resolve_slice, select_slice_export
from aggregate.selectors.fine import count_looks
from aggregate.selectors.reading import Reading
from ingest.models import Project
from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import SliceExport
from profcore.formats.streaming import gzip_stream


class Command(BaseCommand):
    help = (
        "Writes a slice of a project as a profile. Each of --release, --page, --from, --to, --device, --browser, "
        "--view, --trace, --tag and --func-over may be given several times; absent means all. The last four are "
        "answered from raw traces, however many, batch by batch."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG", help="the project")
        parser.add_argument("--format", choices=sorted(EXPORTERS), default="firefox", help="default: %(default)s")
        parser.add_argument(
            "--output", "-o", metavar="FILE", help="where to; gzip where it ends in .gz; default: standard output"
        )
        for name, what in (
            ("release", "a release"),
            ("page", "a page (its route)"),
            ("from", "ISO 8601 or epoch milliseconds; rounded down to a bucket"),
            ("to", "ISO 8601 or epoch milliseconds; rounded up to a bucket"),
            ("device", "a device class"),
            ("browser", "a browser family"),
            ("view", "a page view's id"),
            ("trace", "a trace's id"),
            ("tag", "key:value; several must all be there"),
            ("func-over", "ID:MS, views in which that function's total is above so many ms; several must all hold"),
        ):
            field = name.replace("-", "_")
            parser.add_argument(
                f"--{name}", dest=f"slice_{field}", action="append", default=[], metavar=field.upper(), help=what
            )

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r}.")
        query = SliceQuery(
            release=options["slice_release"],
            page=options["slice_page"],
            from_=options["slice_from"],
            to=options["slice_to"],
            device=options["slice_device"],
            browser=options["slice_browser"],
            view=options["slice_view"],
            trace=options["slice_trace"],
            tag=options["slice_tag"],
            func_over=options["slice_func_over"],
        )
        try:
            export = read_export(project, query)
        except SliceError as error:
            raise CommandError(f"--{error.field.replace('_', '-')}: {error.detail}") from None
        write_pieces(EXPORTERS[options["format"]].write(export), options["output"])


def read_export(project: Project, query: SliceQuery) -> SliceExport:
    """Returns the slice's export. Shows on a terminal how many of its traces are read. Raises `SliceError`."""
    slice_ = resolve_slice(project.pk, query)
    total = count_looks(slice_, with_tree=True)
    with tqdm(desc="Read", unit="trace", total=total, file=sys.stderr, disable=None, mininterval=0.5) as bar:
        export = select_slice_export(slice_, project=project.name, reading=Reading.in_pages(bar.update))
        bar.update(max(0, total - bar.n))  # cells are read in one go
    return export


def write_pieces(pieces: Iterable[bytes], output: str | None) -> None:
    """Writes to a file, whole or not at all, or to standard output. Shows on a terminal how much is written."""
    if output is None:
        _copy(pieces, sys.stdout.buffer)
        return
    target = Path(output)
    partial = target.with_name(target.name + ".part")
    try:
        with partial.open("wb") as file:
            _copy(gzip_stream(pieces) if target.suffix == ".gz" else pieces, file)
        partial.replace(target)
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror}.") from None
    finally:
        partial.unlink(missing_ok=True)


def _copy(pieces: Iterable[bytes], file: BinaryIO) -> None:
    with tqdm(desc="Written", unit="B", unit_scale=True, file=sys.stderr, disable=None, mininterval=0.5) as bar:
        for piece in pieces:
            file.write(piece)
            bar.update(len(piece))
    file.flush()
