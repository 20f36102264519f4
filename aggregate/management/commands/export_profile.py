"""Writes a slice as a profile, to a file or to standard output."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from aggregate.selectors.exports.requests import (
    AXES,
    ENGINES,
    EXPORT_FIELDS,
    SOURCES,
    ExportQuery,
    ExportRequest,
    resolve_export,
    select_export,
)
from aggregate.selectors.page_views.fine_sums import count_read_traces
from aggregate.selectors.page_views.traces import select_raw_body
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.sides import BASE, HEAD, SIDE_FIELDS
from aggregate.selectors.slice.slices import (
    DISPLAY,
    FINE_FIELDS,
    SLICE_FIELDS,
    SliceError,
    SliceQuery,
    resolve_slice,
)
from profcore.formats.registry import EXPORTERS, FORMATS, RAW
from profcore.formats.slice import SEGMENTS, Export
from profcore.formats.streaming import gzip_stream
from profcore.trace.dimensions import DIMENSIONS
from projects.models import Project


class Command(BaseCommand):
    help = (
        "Write a slice of a project as a profile. Each of "
        f"{', '.join(f'--{field}' for field in SLICE_FIELDS)}, --view, --trace, --tag and --func-over may be given "
        "several times; without an option, all are included. The last four are answered from raw traces, any number of "
        "them, batch by batch. With --format raw: one trace as it came."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG", help="the project")
        parser.add_argument("--format", choices=sorted(FORMATS), default="firefox", help="default: %(default)s")
        parser.add_argument(
            "--output", "-o", metavar="FILE", help="the file; gzip if it ends in .gz; default: standard output"
        )
        for name, what in (
            ("release", "a release"),
            ("page", "a page (its route)"),
            ("from", "ISO 8601 or epoch milliseconds; rounded down to a bucket"),
            ("to", "ISO 8601 or epoch milliseconds; rounded up to a bucket"),
            *((dimension.name, dimension.description) for dimension in DIMENSIONS),
            ("view", "a page view's id"),
            ("trace", "a trace's id; for --format raw, VIEW.SEQ too"),
            ("tag", "key:value; a trace must have all that are given"),
            ("func-over", "ID:MS, views in which that function's total is above MS; all that are given must hold"),
            ("display", "none: functions as they are stored, without the project's display rules"),
        ):
            field = name.replace("-", "_")
            parser.add_argument(
                f"--{name}", dest=f"slice_{field}", action="append", default=[], metavar=field.upper(), help=what
            )

        _add_export_arguments(parser)

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r}.")
        query: SliceQuery = {field: options[f"slice_{field}"] for field in (*SLICE_FIELDS, *FINE_FIELDS, DISPLAY)}
        if options["format"] == RAW:
            write_pieces([_read_raw(project, query)], options["output"])
            return
        exporter = EXPORTERS[options["format"]]
        base, head = ({field: options[f"export_{side}_{field}"] for field in SLICE_FIELDS} for side in (BASE, HEAD))
        fields = {field: options[f"export_{field}"] for field in EXPORT_FIELDS if field not in SIDE_FIELDS}
        how = ExportQuery(**fields, base=base, head=head)
        try:
            request = resolve_export(resolve_slice(project.pk, query), exporter, how)
            export = read_export(project, request)
        except SliceError as error:
            raise CommandError(f"--{error.field.replace('_', '-')}: {error.detail}") from None
        write_pieces(exporter.write(export), options["output"], is_gzip=exporter.is_gzip)


def _read_raw(project: Project, query: SliceQuery) -> bytes:
    """Returns one trace's envelope as it came, expanded."""
    if any(query[field] for field in query if field != "trace") or len(query["trace"]) != 1:
        raise CommandError("--format raw takes one --trace, and no other field of a slice.")
    body = select_raw_body(project.pk, query["trace"][0])
    if body is None:
        raise CommandError("--trace: there is no such trace, or its raw body has expired.")
    return body.expand()


def _add_export_arguments(parser: CommandParser) -> None:
    for name, choices, what in (
        ("segment", SEGMENTS, "a track for each, where the format has tracks"),
        ("axis", AXES, "time, the default for views and traces, or sum"),
        ("engine", ENGINES, "leaves: what the engine did, below the functions"),
        ("sources", SOURCES, "content: with the texts of original sources"),
    ):
        parser.add_argument(f"--{name}", dest=f"export_{name}", choices=choices, default="", help=what)
    for name in SIDE_FIELDS:
        side, _, field = name.partition("_")
        parser.add_argument(
            f"--{side}-{field}",
            dest=f"export_{name}",
            action="append",
            default=[],
            metavar=field.upper(),
            help=f"a difference, for each page view: a {field} of the {side}",
        )


def read_export(project: Project, request: ExportRequest) -> Export:
    """Returns an export. Shows on a terminal how many of its traces are read. Raises `SliceError`."""
    total = sum(count_read_traces(slice_, with_tree=True) for slice_ in request.slices)
    with tqdm(desc="Read", unit="trace", total=total, file=sys.stderr, disable=None, mininterval=0.5) as bar:
        export = select_export(request, project=project.name, reading=Reading.in_pages(bar.update))
        bar.update(max(0, total - bar.n))  # views on their clocks are read at once
    return export


def write_pieces(pieces: Iterable[bytes], output: str | None, *, is_gzip: bool = False) -> None:
    """Writes to a file, completely or not at all, or to standard output. Shows on a terminal how much is written.

    A file whose name ends in .gz is gzip, which the pieces may be already.
    """
    if output is None:
        _copy(pieces, sys.stdout.buffer)
        return
    target = Path(output)
    partial = target.with_name(target.name + ".part")
    try:
        with partial.open("wb") as file:
            _copy(gzip_stream(pieces) if target.suffix == ".gz" and not is_gzip else pieces, file)
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
