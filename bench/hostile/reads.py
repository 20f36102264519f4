"""The first reads of hostile traces. Each shape is the only trace of a project of its own, of which nothing is known.

What a process remembers, it remembers per project, so a project's first read is a cold one. Only what is loaded once
per process, such as SciPy, was loaded by reading another project before.
"""

import gzip
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from aggregate.folding.fold import fold_pending_batch
from bench.hostile.shapes import SHAPES, Shape, make_envelope, make_largest
from bench.posting import post_here
from ingest.models import Project, Receipt
from ingest.projects.creation import create_project
from profcore.trace.wire import Envelope, Limits

DAY_MS: Final = 86_400_000.0
PATIENCE_S: Final = 600.0
VIEW: Final = UUID(int=1)
API: Final = "/api/v1/projects/{slug}/"
PAGES: Final = "/projects/{slug}/"
# What a person opens first: pages with the parts that they fetch, and the exports that "Download as" offers.
READS: Final = (
    ("project page", PAGES),
    ("functions page", PAGES + "page/?page=/"),
    ("table of functions", PAGES + "page/table/?page=/"),
    ("function page", PAGES + "functions/{func}/"),
    ("callers and callees", PAGES + "functions/{func}/parts/calls/"),
    ("flame graph's data", API + "flamegraph"),
    ("Firefox profile", API + "profile?format=firefox"),
    ("speedscope", API + "profile?format=speedscope"),
    ("page of the view", PAGES + "views/{view}/"),
    ("timeline of the view", API + "views/{view}/timeline"),
    ("Firefox profile of the view", API + "profile?format=firefox&axis=time&view={view}"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCost:
    """One read of one shape: elapsed and own processor time, the process's peak over its start, and the answer."""

    shape: str
    read: str
    sent_bytes: int
    elapsed_ms: float
    processor_ms: float
    peak_bytes: int
    answer_bytes: int
    status: int


def bench_reads(limits: Limits) -> Iterator[ReadCost]:
    """Yields the cost of each first read of each shape. Fills the database that this command was given."""
    client = Client()
    client.force_login(User.objects.filter(is_superuser=True).order_by("pk")[0])
    small = make_envelope(SHAPES[0], 10, 10)
    for warm in ("warm", "warm-too"):
        list(read_shape(client, SHAPES[0], small, slug=warm))
    for shape in SHAPES:
        yield from read_shape(client, shape, make_largest(shape, limits), slug=shape.__name__.replace("_", "-"))


def read_shape(client: Client, shape: Shape, envelope: Envelope, *, slug: str) -> Iterator[ReadCost]:
    """Posts a trace to a new project, and reads that for the first time."""
    yesterday = msgspec.structs.replace(envelope, timeOrigin=(time.time() * 1000) - DAY_MS)
    body = gzip.compress(msgspec.json.encode(yesterday))
    project = post_alone(slug, body)
    for name, address in READS:
        forget_peak()
        before, elapsed, computed = read_memory("VmRSS"), time.perf_counter(), time.process_time()
        status, answer_bytes = read(client, address, project)
        elapsed, computed = time.perf_counter() - elapsed, time.process_time() - computed
        yield ReadCost(
            shape=shape.__name__,
            read=name,
            sent_bytes=len(body),
            elapsed_ms=elapsed * 1000,
            processor_ms=computed * 1000,
            peak_bytes=max(0, read_memory("VmHWM") - before),
            answer_bytes=answer_bytes,
            status=status,
        )


def forget_peak() -> None:
    """Makes the process's peak of memory its memory now. Linux only, as the servers that ./run starts."""
    Path("/proc/self/clear_refs").write_text("5")


def read_memory(name: str, process: int | str = "self") -> int:
    """Returns a field of a process's memory in bytes: VmRSS is what it has, VmHWM the peak of that."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) * 1024 if found else 0


def post_alone(slug: str, body: bytes) -> Project:
    """Posts a body to a new project, and returns that when it is folded."""
    project, key = create_project(slug=slug, origins=["*"])
    post_here(key.public_key, body)
    deadline_s = time.monotonic() + PATIENCE_S
    while Receipt.objects.filter(project=project).exclude(state=Receipt.State.FOLDED).exists():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{slug} was not folded within {PATIENCE_S} s")
        fold_pending_batch()
        time.sleep(0.05)
    return project


def read(client: Client, address: str, project: Project) -> tuple[int, int]:
    """Returns the status and the bytes of an answer, read to its end."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(id) FROM aggregate_func WHERE project_id = %s", [project.pk])
        func = cursor.fetchone()[0]
    answer = client.get(address.format(slug=project.slug, func=func, view=VIEW))
    return answer.status_code, len(answer.getvalue())


def describe(costs: Sequence[ReadCost]) -> str:
    """Returns a line for each kind of read, with the shape that is slowest in it; the slowest first."""
    lines = ["first read                   slowest shape               elapsed  processor  peak/byte sent     answer"]
    worst = [max((cost for cost in costs if cost.read == name), key=lambda cost: cost.elapsed_ms) for name, _ in READS]
    for cost in sorted(worst, key=lambda cost: -cost.elapsed_ms):
        peak = max(each.peak_bytes / each.sent_bytes for each in costs if each.read == cost.read)
        lines.append(
            f"{cost.read:28s} {cost.shape:24s} {cost.elapsed_ms:7,.0f} ms {cost.processor_ms:7,.0f} ms"
            f" {peak:9,.0f} B {cost.answer_bytes / 1e3:9,.0f} kB" + ("" if cost.status == 200 else f"  {cost.status}")
        )
    return "\n".join(lines)
