"""Compares one project that has all of the load with many projects that share it, by the traces folded per second.

One Fieldflame has both. The same recorded traces, of one release and page, are sent by the same sender in turns: spread
over the projects by chance, then all to one. A round of each kind is `live`, with workers at work while posts come, or
`backlog`: the workers are stopped meanwhile, and then have all processors for themselves.
"""

import os
import random
import signal
import statistics
import time
import urllib.request
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from benchmarks.shared.load import make_bodies, post_all, read_envelopes
from benchmarks.shared.processes import processor_s, read_processes
from ops.supervisor.running import RunningStack, run_stack

GIANT: Final = "giant"
WARM_TRACES: Final = 300  # of each project: its functions are known after them
RELEASE: Final = "1.0.0"
PAGE: Final = "/"
FOLD_LIMIT_S: Final = 900.0
LOOK_S: Final = 0.02
PENDING: Final = "SELECT EXISTS (SELECT FROM ingest_tracereceipt WHERE state = 0)"
KINDS: Final = ("live", "backlog")
PARTS: Final = ("web", "worker", "postgres")


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A round of one kind: seconds from the first post, or from the start of the workers, until all is folded.

    `processor_ms` is per trace, by part.
    """

    kind: str
    is_giant: bool
    traces: int
    fold_s: float
    batches: int
    processor_ms: Mapping[str, float]

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
        if kind == "backlog":
            with self.stopped_workers():
                post_all(self.stack.port, bodies, self.senders, drawn)
        folding_s = time.monotonic()
        if kind == "live":
            post_all(self.stack.port, bodies, self.senders, drawn)
        self.wait()
        done_s = time.monotonic()
        now = processor_s(self.supervisor)
        return Round(
            kind=kind,
            is_giant=keys == [GIANT],
            traces=traces,
            fold_s=done_s - folding_s,
            batches=self.count_batches() - batches,
            processor_ms={part: (now[part] - used.get(part, 0.0)) * 1000 / traces for part in now},
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


def describe_round(done: Round) -> str:
    """Returns a round in one line."""
    side = "one project" if done.is_giant else "many projects"
    parts = ", ".join(f"{part} {done.processor_ms[part]:.2f}" for part in PARTS)
    return (
        f"{done.kind:8} {side:13} folded {done.rate:6.0f} traces/s in {done.batches:3} batches; "
        f"processor ms a trace: {parts}"
    )


def describe_ratios(rounds: Sequence[Round]) -> Iterator[str]:
    """Yields for each kind the ratios of rounds that followed each other, and their median."""
    for kind in KINDS:
        many, one = (
            [done.rate for done in rounds if done.kind == kind and done.is_giant == is_giant]
            for is_giant in (False, True)
        )
        ratios = sorted(giant / others for others, giant in zip(many, one, strict=True))
        listed = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        yield f"{kind}: one project folds {statistics.median(ratios):.2f} of what many do ({listed})"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=2400, help="of a round (default: %(default)s)")
    parser.add_argument("--senders", type=int, default=8, help="connections (default: %(default)s)")
    parser.add_argument("--projects", type=int, default=16, help="next to the large one (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=4, help="processes that fold (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="of each kind (default: %(default)s)")
    rounds = []
    for done in bench_giant(read_envelopes(), **vars(parser.parse_args())):
        print(describe_round(done), flush=True)
        rounds.append(done)
    print("\n".join(describe_ratios(rounds)))
