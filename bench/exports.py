"""Exports of very many traces: the time to the first byte, the whole time, and the memory."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from tqdm import tqdm

from aggregate.selectors.exports.requests import ExportQuery, resolve_export, select_export
from aggregate.selectors.slice.slices import SliceQuery, resolve_slice
from bench.fill import fill
from ingest.models import Project
from ingest.projects.creation import create_project
from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import SliceExport

MEGABYTE = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """One format's export of a whole project, in a process of its own. `first_cpu_s` is its own processor time."""

    format: str
    traces: int
    nodes: int
    first_piece_s: float
    first_cpu_s: float
    total_s: float
    bytes: int
    peak_mb: float


def bench_exports(corpus: Path, views: int) -> Iterator[ExportResult]:
    """Fills a new project of this database with about `views` views of one trace each, and exports all of it."""
    project, _ = create_project(slug=f"exports-{views}", origins=["*"])
    with tqdm(total=views, unit="view", desc="Filling") as bar:
        fill(project.pk, corpus, views, datetime.now(UTC), bar.update)
    for name, exporter in EXPORTERS.items():
        if "slice" not in exporter.kinds:
            continue
        words = [sys.executable, "manage.py", "bench", "export-here", "--project", project.slug, "--format", name]
        done = subprocess.run(words, cwd=settings.BASE_DIR, check=True, capture_output=True)
        yield ExportResult(**json.loads(done.stdout))


def measure_export(slug: str, name: str) -> ExportResult:
    """Returns the measures of an export of a whole project in this process; the bytes are thrown away."""
    project = Project.objects.get(slug=slug)
    exporter = EXPORTERS[name]
    began, computed = time.perf_counter(), time.process_time()
    asked = resolve_export(resolve_slice(project.pk, SliceQuery()), exporter, ExportQuery())
    export = select_export(asked, project=project.name, link=None)
    pieces = exporter.write(export)
    size = len(next(pieces))
    first_s, first_cpu_s = time.perf_counter() - began, time.process_time() - computed
    size += sum(len(piece) for piece in pieces)
    total_s = time.perf_counter() - began
    # Kilobytes on Linux.
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE
    assert isinstance(export, SliceExport)
    return ExportResult(
        format=name,
        traces=export.traces,
        nodes=len(export.tree),
        first_piece_s=first_s,
        first_cpu_s=first_cpu_s,
        total_s=total_s,
        bytes=size,
        peak_mb=peak_mb,
    )


def describe(results: Sequence[ExportResult]) -> str:
    """Returns the results as a table."""
    lines = [f"{results[0].traces:,} traces, {results[0].nodes:,} call nodes" if results else "nothing"]
    lines += [
        f"  {each.format:12} first piece {each.first_piece_s:6.2f} s, of a core {each.first_cpu_s:5.2f} s "
        f"  all {each.total_s:6.2f} s   {each.bytes / MEGABYTE:7.1f} MB   peak {each.peak_mb:5.0f} MB"
        for each in results
    ]
    return "\n".join(lines)


def as_json(result: ExportResult) -> str:
    """Returns a result in the form that `bench_exports` reads."""
    return json.dumps(asdict(result))
