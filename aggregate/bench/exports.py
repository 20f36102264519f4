"""How soon an export of very many traces begins, how long it takes, and in how much memory."""

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

from aggregate.bench.fill import fill
from aggregate.selectors import ExportQuery, SliceQuery, resolve_export, resolve_slice, select_export
from ingest.models import Project
from ingest.services import create_project
from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import SliceExport

MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class ExportResult:
    """One format's export of a whole project, in a process of its own. `first_cpu_s` is what this process computed."""

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
    """Exports all of a project in this process, and throws the bytes away."""
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
    return ExportResult(name, export.traces, len(export.tree), first_s, first_cpu_s, total_s, size, peak_mb)


def describe(results: Sequence[ExportResult]) -> str:
    """Returns the table to show."""
    lines = [f"{results[0].traces:,} traces, {results[0].nodes:,} call nodes" if results else "nothing"]
    lines += [
        f"  {each.format:12} first piece {each.first_piece_s:6.2f} s, of a core {each.first_cpu_s:5.2f} s "
        f"  all {each.total_s:6.2f} s   {each.bytes / MEGABYTE:7.1f} MB   peak {each.peak_mb:5.0f} MB"
        for each in results
    ]
    return "\n".join(lines)


def as_json(result: ExportResult) -> str:
    """Returns a result as `bench_exports` reads it."""
    return json.dumps(asdict(result))
