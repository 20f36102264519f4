"""Measures the memory of all processes of a `./run`: after its start, heavy traces, and reads by one and by many.

Each process counts with its proportional share (PSS): a page that several processes share counts once in their sum.
"""

import json
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Final

from benchmarks.shared.here import add_here, run_here
from benchmarks.shared.load import PROJECT, make_bodies, post_all, read_envelopes
from benchmarks.shared.processes import Share, describe_memory, take_shares
from benchmarks.shared.reads import Reads, find_reads, list_reads, read
from ops.supervisor.running import RunningStack, run_stack
from tests.stack_processes import MEGABYTE, find_web_processes, read_memory

SETTLE_S: Final = 12.0  # what is about to be freed is freed, and given back
# A machine that others keep busy is late, and that is not what is measured.
PATIENT: Final = {"FIELDFLAME_DATABASE_WAIT_MS": "60000", "FIELDFLAME_READ_WAIT_S": "300"}
FOLD_LIMIT_S: Final = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """All processes at a moment."""

    when: str
    shares: Sequence[Share]


def bench_memory(traces: int, reads: int, readers: int) -> Iterator[Moment]:
    """Yields the memory of a whole stack after its start, heavy traces, a round of reads, and `reads` of them twice."""
    bodies = make_bodies(read_envelopes("heavy"), traces)
    with run_stack(PATIENT) as stack:
        token = stack.create_project(PROJECT)
        yield take(stack, "ready")
        post_all(stack.port, bodies, 8)
        stack.wait_until_folded({PROJECT: token}, limit_s=FOLD_LIMIT_S)
        yield take(stack, f"after {traces} heavy traces")
        targets = find_reads(run_here(stack.store_environment, "memory", "--project", PROJECT))
        yield take(stack, f"after a round: {read_all(stack, targets, len(targets.addresses), 1)}")
        yield take(stack, f"after more by one: {read_all(stack, targets, reads, 1)}")
        yield take(stack, f"after more by {readers} at a time: {read_all(stack, targets, reads, readers)}")


def read_all(stack: RunningStack, targets: Reads, reads: int, readers: int) -> str:
    """Reads from the running server; returns the statuses, and the peak of its largest web process meanwhile."""
    assert stack.process is not None
    pids = find_web_processes(stack.process.pid)
    peak = 0.0

    def read_one(number: int) -> int:
        return read(stack.port, targets.cookie, targets.addresses[number % len(targets.addresses)])[0]

    statuses: Counter[int] = Counter()
    with ThreadPoolExecutor(readers) as pool:
        for status in pool.map(read_one, range(reads)):
            statuses[status] += 1
            peak = max(peak, *(read_memory("VmRSS", pid) / MEGABYTE for pid in pids))
    listed = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))
    return f"{reads} reads ({listed}), a web process had {peak:,.0f} MB at most"


def take(stack: RunningStack, when: str) -> Moment:
    """Returns the memory of all processes, after a while in which nothing is asked of them."""
    time.sleep(SETTLE_S)
    return Moment(when=when, shares=take_shares(stack))


def describe(moment: Moment) -> str:
    """Returns a moment as a table."""
    return f"{moment.when}: {sum(share.pss_mb for share in moment.shares):.0f} MB\n{describe_memory(moment.shares)}"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=600, help="heavy ones that are posted (default: %(default)s)")
    parser.add_argument("--reads", type=int, default=1000, help="by one, and by many (default: %(default)s)")
    parser.add_argument("--readers", type=int, default=24, help="at a time (default: %(default)s)")
    parser.add_argument("--project", default=PROJECT, help="with --here: the project to read")
    add_here(parser)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(asdict(list_reads(options.project))))
        return
    for moment in bench_memory(options.traces, options.reads, options.readers):
        print(describe(moment), flush=True)
