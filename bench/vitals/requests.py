"""What one request of `vitals` takes, over views of each kind: processor time, time, and the rise of memory."""

import gc
import gzip
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.contrib.auth.models import User
from django.test import Client

from aggregate.folding.fold import fold_pending_batch
from bench.hostile.reads import DAY_MS, PATIENCE_S, forget_peak, read_memory
from bench.posting import post_here
from bench.vitals.kinds import KINDS, MOST_BYTES, make_views
from bench.vitals.run import bench_vitals, describe_vitals, read_views
from config.up.running import RunningStack, run_stack
from ingest.models import Project, Receipt
from ingest.projects.creation import create_project

# Filling takes long on a busy machine, and is as fast as it can be.
FILLING: Final = {"FIELDFLAME_DATABASE_WAIT_MS": "60000", "FIELDFLAME_RATE_PER_S": "1000000"}
HEAD: Final = "one request              views  expanded   read  processor   elapsed  memory rises by"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCost:
    """One request about all views of a kind, in a process of its own. `expanded_bytes` are those of their traces."""

    kind: str
    views: int
    expanded_bytes: int
    status: int
    read_views: int
    processor_s: float
    elapsed_s: float
    rise_bytes: int


def show_vitals(write: Callable[[str], object]) -> None:
    """Measures recorded views in this process, and requests in a stack of their own."""
    write(describe_vitals(bench_vitals(read_views())))
    write(f"\n{HEAD}")
    with run_stack(FILLING) as stack:
        for cost in bench_requests(stack):
            write(describe_request(cost))


def bench_requests(stack: RunningStack) -> Iterator[RequestCost]:
    """Fills the stack's database with a project for each kind, and reads each of them once."""
    for kind in KINDS:
        stack.manage("bench", "vitals-fill-here", "--project", kind)
        yield RequestCost(**json.loads(stack.manage("bench", "vitals-here", "--project", kind)))


def fill(kind: str, *, views: int | None = None, most_bytes: int = MOST_BYTES) -> None:
    """Posts views of a kind to a new project of this database, moved to yesterday, and folds them."""
    project, key = create_project(slug=slug_of(kind), origins=["*"])
    now_ms = time.time() * 1000
    for bodies in make_views(kind, views=views, most_bytes=most_bytes):
        envelopes = [json.loads(body) for body in bodies]
        shift_ms = now_ms - DAY_MS - envelopes[0]["timeOrigin"]
        post_here(
            key.public_key, gzip.compress(b"[" + b",".join(_move(each, shift_ms) for each in envelopes) + b"]", 1)
        )
    deadline_s = time.monotonic() + PATIENCE_S
    while Receipt.objects.filter(project=project, state=Receipt.State.PENDING).exists():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{kind} was not folded within {PATIENCE_S} s")
        fold_pending_batch()


def slug_of(kind: str) -> str:
    """Returns the slug of the project with views of a kind."""
    return f"vitals-{kind.replace('_', '-')}"


def _move(envelope: dict[str, Any], shift_ms: float) -> bytes:  # Any: JSON
    moved = {**envelope, "timeOrigin": envelope["timeOrigin"] + shift_ms}
    if envelope.get("viewStart") is not None:
        moved["viewStart"] = envelope["viewStart"] + shift_ms
    return json.dumps(moved, separators=(",", ":")).encode()


def measure_request(kind: str) -> RequestCost:
    """Returns what one request about a project takes in this process, which has read nothing but its overview."""
    project = Project.objects.get(slug=slug_of(kind))
    client = Client()
    client.force_login(User.objects.filter(is_superuser=True).order_by("pk")[0])
    api = f"/api/v1/projects/{project.slug}/"
    client.get(f"{api}functions?limit=1&release=none")  # loads what a server has loaded
    client.get(f"{api}vitals?release=none")
    receipts = Receipt.objects.filter(project=project)
    gc.collect()
    forget_peak()
    before, elapsed, computed = read_memory("VmRSS"), time.perf_counter(), time.process_time()
    answer = client.get(f"{api}vitals")
    elapsed, computed = time.perf_counter() - elapsed, time.process_time() - computed
    return RequestCost(
        kind=kind,
        views=receipts.values("view_id", "group_id").distinct().count(),
        expanded_bytes=sum(receipts.values_list("body_bytes", flat=True)),
        status=answer.status_code,
        read_views=answer.json().get("read_views", 0),
        processor_s=computed,
        elapsed_s=elapsed,
        rise_bytes=max(0, read_memory("VmHWM") - before),
    )


def as_json(cost: RequestCost) -> str:
    """Returns a cost in the form that `bench_requests` reads."""
    return json.dumps(asdict(cost))


def describe_request(cost: RequestCost) -> str:
    """Returns a line below `HEAD`."""
    return (
        f"  {cost.kind:20} {cost.views:7,} {cost.expanded_bytes / 1e6:6.1f} MB {cost.read_views:6,}"
        f" {cost.processor_s:8.2f} s {cost.elapsed_s:7.2f} s {cost.rise_bytes / 1e6:9,.0f} MB"
        + ("" if cost.status == 200 else f"  answered {cost.status}")
    )
