"""One project with all of the load: the rate at which its traces are folded, against many projects with the same load.

One Fieldflame has both. The same recorded traces, of one release and page, are sent by the same sender in turns: spread
over the projects by chance, then all to one. A round of each kind is `live`, with workers at work while posts come, or
`backlog`: the workers are stopped meanwhile, and then have all processors for themselves.
"""

import os
import random
import signal
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from bench.end_to_end import make_bodies, post_all
from bench.giant.waits import Waits, watched_waits
from bench.processor_time import processor_s, read_processes
from config.up.running import RunningStack, run_stack

GIANT: Final = "giant"
WARM_TRACES: Final = 300  # of each project: its functions are known after them
RELEASE: Final = "1.0.0"
PAGE: Final = "/"
FOLD_LIMIT_S: Final = 900.0
LOOK_S: Final = 0.02
PENDING: Final = "SELECT EXISTS (SELECT FROM ingest_tracereceipt WHERE state = 0)"
KINDS: Final = ("live", "backlog")


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A round of one kind: seconds until all posts were accepted, and seconds of folding.

    `processor_ms` is per trace, by part. `waits` are those of the time of folding.
    """

    kind: str
    is_giant: bool
    traces: int
    post_s: float
    fold_s: float
    batches: int
    processor_ms: Mapping[str, float]
    waits: Waits

    @property
    def rate(self) -> float:
        """Traces folded per second."""
        return self.traces / self.fold_s


def bench_giant(
    recorded: Sequence[dict[str, Any]], *, traces: int, senders: int, projects: int, workers: int, rounds: int
) -> Iterator[Round]:
    """Runs rounds in turns, and yields each. Raises if a trace is refused or lost."""
    environment = {"FIELDFLAME_WORKER_PROCESSES": str(workers), "FIELDFLAME_RATE_PER_S": "1000000"}
    with run_stack(environment) as stack:
        load = _TwoSides(stack, recorded, senders, projects)
        load.send(load.many, WARM_TRACES * projects)
        load.send([GIANT], WARM_TRACES * 2)
        for number in range(rounds):
            for kind in KINDS:
                sides = [load.many, [GIANT]]
                for keys in sides if number % 2 else reversed(sides):
                    yield load.measure(kind, keys, traces)
        load.check()


class _TwoSides:
    """The projects of a stack, and what was sent to them."""

    def __init__(self, stack: RunningStack, recorded: Sequence[dict[str, Any]], senders: int, projects: int) -> None:
        self.stack = stack
        self.recorded = [{**envelope, "release": RELEASE, "page": PAGE} for envelope in recorded]
        self.senders = senders
        self.many = [f"many{number}" for number in range(projects)]
        self.tokens = {slug: stack.create_project(slug) for slug in [*self.many, GIANT]}
        self.sent = 0
        self.draw = random.Random(0)  # noqa: S311  # not for secrets
        assert stack.process is not None
        self.supervisor = stack.process.pid
        self.address = stack.store_environment["DATABASE_URL"]

    def send(self, keys: Sequence[str], traces: int) -> None:
        """Sends new views, and waits until they are folded."""
        bodies, drawn = self.make(keys, traces)
        post_all(self.stack.port, bodies, self.senders, drawn)
        self.wait()

    def make(self, keys: Sequence[str], traces: int) -> tuple[list[bytes], list[str]]:
        """Returns the bodies of so many new views of now, and the key of each, drawn by chance."""
        now_ms = time.time() * 1000
        of_now = [{**envelope, "timeOrigin": now_ms, "viewStart": now_ms} for envelope in self.recorded]
        self.sent += traces
        return make_bodies(of_now, traces, self.sent - traces), self.draw.choices(keys, k=traces)

    def wait(self) -> None:
        """Waits until nothing is pending. Asks the database: the web processes would answer for each project."""
        deadline_s = time.monotonic() + FOLD_LIMIT_S
        with psycopg.connect(self.address, autocommit=True, application_name="bench") as connection:
            while connection.execute(PENDING).fetchone() == (True,):
                if time.monotonic() > deadline_s:
                    raise TimeoutError(f"traces are still pending after {FOLD_LIMIT_S} s")
                time.sleep(LOOK_S)

    def measure(self, kind: str, keys: Sequence[str], traces: int) -> Round:
        bodies, drawn = self.make(keys, traces)
        used, batches = processor_s(self.supervisor), self.count_batches()
        began_s = time.monotonic()
        if kind == "backlog":
            with self.stopped_workers():
                post_all(self.stack.port, bodies, self.senders, drawn)
        folding_s = time.monotonic()
        with watched_waits(self.address) as waits:
            if kind == "live":
                post_all(self.stack.port, bodies, self.senders, drawn)
            posted_s = time.monotonic() if kind == "live" else folding_s
            self.wait()
            done_s = time.monotonic()
        now = processor_s(self.supervisor)
        return Round(
            kind=kind,
            is_giant=keys == [GIANT],
            traces=traces,
            post_s=posted_s - began_s,
            fold_s=done_s - folding_s,
            batches=self.count_batches() - batches,
            processor_ms={part: (now[part] - used.get(part, 0.0)) * 1000 / traces for part in now},
            waits=waits,
        )

    def count_batches(self) -> int:
        """Returns how many batches the workers have written so far."""
        text = urllib.request.urlopen(f"{self.stack.url}/metrics", timeout=60).read().decode()  # noqa: S310  # our own
        lines = [line for line in text.splitlines() if line.startswith("fieldflame_fold_batch_traces_count")]
        return int(sum(float(line.rpartition(" ")[2]) for line in lines))

    @contextmanager
    def stopped_workers(self) -> Iterator[None]:
        pids = read_processes(self.supervisor)["worker"]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def check(self) -> None:
        """Raises `RuntimeError` if not all that was sent is counted."""
        counted = 0
        for slug, token in self.tokens.items():
            status = self.stack.read(slug, token, "status")
            counted += status["folded"] + status["rejected"]
        if counted != self.sent:
            raise RuntimeError(f"{self.sent} traces were accepted, and {counted} are folded or rejected.")
