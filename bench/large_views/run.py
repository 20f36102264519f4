"""What reads of one large view take in a web process: processor time, time, and the rise of memory."""

import gc
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import connection, connections
from django.http import HttpResponseBase, StreamingHttpResponse
from django.test import Client

from aggregate.folding.fold import fold_pending_batch
from bench.hostile.reads import DAY_MS, PATIENCE_S, forget_peak, read_memory
from bench.large_views.kinds import KINDS, make_view, pack
from bench.posting import post_here
from bench.vitals.requests import FILLING
from bench.vitals.run import read_views
from config.up.running import RunningStack, run_stack
from ingest.models import Project, Receipt
from ingest.projects.creation import create_project

OTHERS: Final = 20  # recorded views beside the large one
SIZES: Final = {"4": 4_000_000, "27": 27_000_000, "66": 63 * 2**20}  # the first: half a minute of a heavy recorded app
API: Final = "/api/v1/projects/{slug}/"
READS: Final = {
    "timeline": API + "views/{view}/timeline",
    "page of the view": "/projects/{slug}/views/{view}/?plain=1",
    "firefox, of the view": API + "profile?format=firefox&view={view}",
    "cpuprofile, of the view": API + "profile?format=cpuprofile&view={view}",
    "firefox, the view's sum": API + "profile?format=firefox&axis=sum&view={view}",
    "firefox, all views": API + "profile?format=firefox",
    "calltree, of the view": API + "calltree?view={view}",
    "flamegraph, of the view": API + "flamegraph?view={view}",
    "functions, of the view": API + "functions?view={view}",
    "functions, func_over": API + "functions?func_over={func}:0",
}
HEAD: Final = "view            read                         expanded  processor   elapsed  memory rises by     answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeViewCost:
    """One read in a process of its own. `expanded_bytes` are those of the large view."""

    kind: str
    read: str
    expanded_bytes: int
    status: int
    answer_bytes: int
    processor_s: float
    elapsed_s: float
    rise_bytes: int


def show_large_views(write: Callable[[str], object]) -> None:
    """Measures each read of each view, in a stack of its own."""
    write(HEAD)
    with run_stack(FILLING) as stack:
        for cost in bench_large_views(stack):
            write(describe(cost))


def bench_large_views(stack: RunningStack) -> Iterator[LargeViewCost]:
    """Fills the stack's database with a project for each view, and reads each in every way."""
    for name in list_names():
        stack.manage("bench", "large-views-fill-here", "--project", name)
        for cost in json.loads(stack.manage("bench", "large-views-here", "--project", name)):
            yield LargeViewCost(**cost)


def list_names() -> list[str]:
    """Returns the names of the views: kind and size in MB."""
    return ["recorded", *(f"{kind}-{size}" for size in SIZES for kind in KINDS)]


def fill(name: str, *, most_bytes: int | None = None) -> None:
    """Posts some recorded views and a large one to a new project of this database, and folds them."""
    kind, _, size = name.partition("-")
    project, key = create_project(slug=f"large-{name}", origins=["*"])
    now_ms = time.time() * 1000 - DAY_MS
    for bodies in read_views()[:OTHERS]:
        for body in bodies:
            envelope = json.loads(body)
            moved = {"timeOrigin": now_ms, "viewStart": now_ms}
            post_here(key.public_key, pack({**envelope, **moved}))
    for envelope in () if kind == "recorded" else make_view(kind, most_bytes or SIZES[size]):
        post_here(key.public_key, pack({**envelope, "timeOrigin": now_ms, "viewStart": now_ms}))
    deadline_s = time.monotonic() + PATIENCE_S
    while Receipt.objects.filter(project=project, state=Receipt.State.PENDING).exists():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{name} was not folded within {PATIENCE_S} s")
        fold_pending_batch()


def measure_reads(name: str) -> Iterator[LargeViewCost]:
    """Yields what each read takes in a process of its own, which has read other views before."""
    project = Project.objects.get(slug=f"large-{name}")
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.filter(is_superuser=True).order_by("pk")[0])
    views: dict[str, int] = {}
    for view_id, body_bytes in Receipt.objects.filter(project=project).values_list("view_id", "body_bytes"):
        views[str(view_id)] = views.get(str(view_id), 0) + body_bytes
    large, small = max(views, key=views.__getitem__), min(views, key=views.__getitem__)
    for read in READS:  # loads what a server has loaded
        _answer(client, address_of(project, read, small))
    for read in READS:
        yield LargeViewCost(
            kind=name,
            read=read,
            expanded_bytes=views[large],
            **_measure_apart(client, address_of(project, read, large)),
        )


def _measure_apart(client: Client, address: str) -> dict[str, Any]:  # Any: fields of `LargeViewCost`
    """Returns what a read takes in a copy of this process."""
    connections.close_all()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writer, "w") as pipe:
            pipe.write(json.dumps(measure_read(client, address)))
            pipe.flush()
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        found: dict[str, Any] = json.load(pipe)
    os.waitpid(child, 0)
    return found


def measure_read(client: Client, address: str) -> dict[str, Any]:
    """Returns what a read takes in this process: fields of `LargeViewCost`."""
    connections["default"].ensure_connection()
    gc.collect()
    forget_peak()
    before, elapsed, computed = read_memory("VmRSS"), time.perf_counter(), time.process_time()
    status, answer_bytes = _answer(client, address)
    return {
        "status": status,
        "answer_bytes": answer_bytes,
        "elapsed_s": time.perf_counter() - elapsed,
        "processor_s": time.process_time() - computed,
        "rise_bytes": max(0, read_memory("VmHWM") - before),
    }


def _answer(client: Client, address: str) -> tuple[int, int]:
    """Returns the status and the bytes of an answer, which is read piece by piece as a server sends it."""
    answer: HttpResponseBase = client.get(address)
    if isinstance(answer, StreamingHttpResponse):
        return answer.status_code, sum(len(piece) for piece in iter(answer) if isinstance(piece, bytes))
    return answer.status_code, len(getattr(answer, "content", b""))


def address_of(project: Project, read: str, view: str) -> str:
    """Returns the address of a read of a view."""
    words = {"slug": project.slug, "view": view}
    if "{func}" in READS[read]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT max(id) FROM aggregate_func WHERE project_id = %s", [project.pk])
            words["func"] = cursor.fetchone()[0]
    return READS[read].format(**words)


def as_json(costs: Iterable[LargeViewCost]) -> str:
    """Returns costs in the form that `bench_large_views` reads."""
    return json.dumps([asdict(cost) for cost in costs])


def describe(cost: LargeViewCost) -> str:
    """Returns a line below `HEAD`."""
    return (
        f"{cost.kind:15} {cost.read:26} {cost.expanded_bytes / 1e6:7.1f} MB {cost.processor_s:8.2f} s"
        f" {cost.elapsed_s:7.2f} s {cost.rise_bytes / 1e6:12,.0f} MB {cost.answer_bytes / 1e3:9,.0f} kB"
        + ("" if cost.status == 200 else f"  answered {cost.status}")
    )
