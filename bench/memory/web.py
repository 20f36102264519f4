"""The memory of web processes over many mixed reads: pages with their parts, answers of the read API, exports.

In one process, tracemalloc says what is still allocated after more of the same reads: what only grows is a leak. Of a
running server, its processes' memory is read: what the allocator keeps of freed memory counts there too.
"""

import gc
import http.client
import json
import time
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from tqdm import tqdm

from bench.fill import fill
from bench.hostile.reads import read_memory
from bench.screens.pages import find_busiest
from config.up.running import RunningStack, run_stack
from ingest.models import Project
from ingest.projects.creation import create_project
from profcore.formats.registry import EXPORTERS

MEGABYTE: Final = 1e6
WARM_READS: Final = 200  # modules, templates and pools are loaded, and what is remembered is remembered
PAGES: Final = (
    *(
        "",
        "page/",
        "page/table/",
        "page/table/?group_by=file",
        "tree/",
        "views/",
        "views/list/",
        "quality/",
        "changes/",
    ),
    *("quality/sampled/", "functions/{func_id}/", "functions/{func_id}/parts/calls/", "compare/"),
    *("functions/{func_id}/parts/days/", "views/{view_id}/", "settings/", "settings/source-maps/"),
)
ANSWERS: Final = (
    *("functions", "overview", "trend", "flamegraph", "calltree", "views", "pages", "quality", "traces"),
    "functions/{func_id}/census",
    *(f"profile?format={name}" for name in EXPORTERS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What a process still had allocated after so many reads, in MB, and the lines that hold most of the growth."""

    reads: int
    first_mb: float
    last_mb: float
    lines: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebMemory:
    """The memory of the web processes in MB: before, the largest at any time, and after it all; and how it went."""

    readers: int
    reads: int
    before_mb: Sequence[float]
    peak_mb: float
    after_mb: Sequence[float]
    elapsed_s: float
    statuses: Mapping[int, int]


def make_addresses(project: Project) -> list[str]:
    """Returns every read for the whole project, for its busiest page, and for one release of that."""
    busiest = find_busiest(project)
    page, release = ("page", busiest.page), ("release", busiest.releases[0])
    made = []
    for params in ([], [page], [page, release]):
        for root, reads in ((f"/projects/{project.slug}/", PAGES), (f"/api/v1/projects/{project.slug}/", ANSWERS)):
            for read in reads:
                path, _, own = read.format(**busiest.arguments).partition("?")
                query = "&".join(words for words in (own, urlencode(params)) if words)
                made.append(f"{root}{path}?{query}" if query else root + path)
    return made


def prepare(corpus: Path, views: int) -> tuple[Project, Client]:
    """Fills a new project, and returns it with a client who may read it."""
    project, _ = create_project(slug="memory", origins=["*"])
    with tqdm(total=views, unit="view", desc="Filling") as bar:
        fill(project.pk, corpus, views, datetime.now(UTC), bar.update)
    return project, log_in()


def log_in() -> Client:
    """Returns a client of the first user, who may read everything."""
    client = Client()
    client.force_login(User.objects.filter(is_superuser=True).order_by("pk")[0])
    return client


def measure_growth(client: Client, addresses: Sequence[str], reads: int) -> Growth:
    """Reads in this process. Its growth is that of the second half: the first fills what is remembered."""
    for number in range(WARM_READS):
        client.get(addresses[number % len(addresses)]).getvalue()
    tracemalloc.start()
    first = None
    for number in tqdm(range(reads), unit="read"):
        if number == reads // 2:
            gc.collect()
            first, first_bytes = tracemalloc.take_snapshot(), tracemalloc.get_traced_memory()[0]
        client.get(addresses[number % len(addresses)]).getvalue()
    gc.collect()
    last, last_bytes = tracemalloc.take_snapshot(), tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert first is not None
    ignored = [tracemalloc.Filter(False, tracemalloc.__file__)]
    grown = last.filter_traces(ignored).compare_to(first.filter_traces(ignored), "lineno")
    lines = [str(line) for line in grown[:10] if line.size_diff > 0]
    return Growth(reads=reads, first_mb=first_bytes / MEGABYTE, last_mb=last_bytes / MEGABYTE, lines=lines)


def describe_growth(growth: Growth) -> str:
    """Returns the growth, and the lines of code that hold it."""
    half, whole = growth.reads // 2, growth.reads
    head = f"allocated after {half} reads {growth.first_mb:.1f} MB, after {whole} {growth.last_mb:.1f} MB"
    return "\n".join([head, *(f"  {line}" for line in growth.lines)])


def bench_web_memory(
    corpus: Path, views: int, reads: int, readers: Sequence[int], environment: Mapping[str, str]
) -> Iterator[WebMemory | str]:
    """Yields what grows within one process, then the memory of a server's processes for each number of readers."""
    with run_stack(environment) as stack:
        words = ["--views", str(views), "--corpus", str(corpus), "--reads", str(reads)]
        found = json.loads(stack.manage("bench", "memory-here", *words))
        yield str(found["growth"])
        for count in readers:
            yield read_all(stack, found["cookie"], found["addresses"], reads, count)


def read_all(stack: RunningStack, cookie: str, addresses: Sequence[str], reads: int, readers: int) -> WebMemory:
    """Reads from the running server, by so many readers at a time."""
    assert stack.process is not None
    pids = find_web_processes(stack.process.pid)
    before = [read_memory("VmRSS", pid) / MEGABYTE for pid in pids]
    statuses: dict[int, int] = {}
    peak = 0.0
    began = time.perf_counter()

    def read_one(number: int) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", stack.port, timeout=600)
        headers = {"Cookie": cookie, "Accept-Encoding": "gzip"}
        connection.request("GET", addresses[number % len(addresses)], headers=headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    with ThreadPoolExecutor(readers) as pool:
        for status in pool.map(read_one, range(reads)):
            statuses[status] = statuses.get(status, 0) + 1
            peak = max(peak, *(read_memory("VmRSS", pid) / MEGABYTE for pid in pids))
    elapsed_s = time.perf_counter() - began
    time.sleep(2)  # what is about to be freed is freed
    return WebMemory(
        readers=readers,
        reads=reads,
        before_mb=before,
        peak_mb=peak,
        after_mb=[read_memory("VmRSS", pid) / MEGABYTE for pid in pids],
        elapsed_s=elapsed_s,
        statuses=statuses,
    )


def find_web_processes(supervisor: int) -> list[int]:
    """Returns the processes that answer requests: those below the web server's own."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                found[int(entry.name)] = parent, (entry / "cmdline").read_bytes()
            except OSError:
                continue  # gone
    servers = [pid for pid, (parent, command) in found.items() if parent == supervisor and b"granian" in command]
    workers = [pid for pid, (parent, _) in found.items() if parent in servers]
    return sorted(pid for pid in workers if _has_code(pid))


def _has_code(pid: int) -> bool:
    """Tells whether a process is large enough for a web process, and no resource tracker; an ended one is none."""
    try:
        return read_memory("VmRSS", pid) > 50 * MEGABYTE
    except (FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
        return False


def describe(memory: WebMemory) -> str:
    """Returns a line."""
    before, after = (" and ".join(f"{mb:,.0f}" for mb in values) for values in (memory.before_mb, memory.after_mb))
    statuses = ", ".join(f"{count} × {status}" for status, count in sorted(memory.statuses.items()))
    return (
        f"{memory.reads} reads by {memory.readers} at a time in {memory.elapsed_s:.0f} s ({statuses}): "
        f"web processes had {before} MB, at most {memory.peak_mb:,.0f} MB, and have {after} MB"
    )


def as_json(client: Client, addresses: Sequence[str], growth: Growth) -> str:
    """Returns what `bench_web_memory` reads from this process."""
    found = {"cookie": cookie_of(client), "addresses": addresses, "growth": describe_growth(growth)}
    return json.dumps(found)


def addresses_as_json(project: Project) -> str:
    """Returns what to read of a project, and by which cookie."""
    return json.dumps({"cookie": cookie_of(log_in()), "addresses": make_addresses(project)})


def cookie_of(client: Client) -> str:
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
