"""Works a whole Fieldflame at 80 % of its capacity, then at twice its capacity, and checks every sum.

A ledger knows each post and its answer. The program fails if anything that was accepted was lost, changed, or counted
twice. Promises about time and memory are printed only: a busy machine breaks them.
"""

import shutil
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.shared.here import run_here
from benchmarks.shared.load import PROJECT, read_envelopes
from benchmarks.shared.reads import find_reads
from benchmarks.soak.beside import Beside
from benchmarks.soak.checking import find_differences
from benchmarks.soak.ledger import ACCEPTED, REFUSED, Ledger
from benchmarks.soak.report import SoakResult, describe_soak
from benchmarks.soak.sending import Sender, Sent
from benchmarks.soak.traces import SoakTrace, prepare
from benchmarks.soak.watching import StackMonitor, count_pending, take_used
from ops.supervisor.running import RunningStack, run_stack
from tests.corpus import Json

FOLD_LIMIT_S: Final = 3_600.0
CONNECTIONS: Final = 64
OVERLOAD_CONNECTIONS: Final = 256  # one that waits for an answer sends nothing meanwhile: 64 would be too few for 2 ×
CAPACITY_CONNECTIONS: Final = 16
WARM_S: Final = 10.0
PENDING_PAUSE_S: Final = 0.25
PENDING_SHARE: Final = 0.1  # of the bound of pending traces, while the capacity is measured
GROWING_VIEWS: Final = 10  # one in so many views is posted in two parts
MAX_PENDING: Final = 20_000  # low enough to be met by the overload
SEED: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakPlan:
    """What to do: the steady rate and the overload as shares of the capacity, times in seconds."""

    steady_s: float
    overload_s: float
    share: float = 0.8
    overload: float = 2.0
    capacity_s: float = 30.0
    max_pending: int = MAX_PENDING


def bench_soak(
    recorded: Sequence[Json], plan: SoakPlan, tell: Callable[[str], object], logs: Path | None = None
) -> SoakResult:
    """Soaks a whole Fieldflame in a fresh folder. `tell` gets a line at each phase, and `logs` the logs at the end."""
    traces, visits = make_visits(recorded)
    # So that half an hour has something to merge, to delete and to refuse.
    environment = {
        "FIELDFLAME_MAX_PENDING": str(plan.max_pending),
        "FIELDFLAME_MERGE_AFTER_HOURS": "1",
        "FIELDFLAME_ROLL_UP_AFTER_HOURS": "1",
        "FIELDFLAME_KEEP_RAW_DAYS": "2",
        "FIELDFLAME_KEEP_VIEWS_DAYS": "4",
    }
    with run_stack(environment) as stack:
        try:
            return Soak(stack, Ledger(traces, visits, seed=SEED), plan, tell).run()
        finally:
            if logs is not None:
                shutil.copytree(stack.folder.logs, logs, dirs_exist_ok=True)


def make_visits(recorded: Sequence[Json]) -> tuple[list[SoakTrace], list[list[int]]]:
    """Returns all traces, and for each recorded view those that it sends: its trace, every tenth view twice."""
    traces = [prepare(envelope) for envelope in recorded]
    return traces, [[number] * (1 if number % GROWING_VIEWS else 2) for number in range(len(traces))]


class Soak:
    """A soak under way."""

    def __init__(self, stack: RunningStack, ledger: Ledger, plan: SoakPlan, tell: Callable[[str], object]) -> None:
        self.stack = stack
        self.ledger = ledger
        self.plan = plan
        self.tell = tell
        self.sender = Sender(stack.port, ledger, CONNECTIONS)
        self.token = stack.create_project(PROJECT)

    def run(self) -> SoakResult:
        self.tell("the first traces are posted")
        self.send_all_that_is_folded("warm", WARM_S)
        self.wait_until_folded()
        reads = find_reads(run_here(self.stack.store_environment, "memory", "--project", PROJECT))
        beside, monitor = Beside(self.stack, reads), StackMonitor(self.stack)
        try:
            return self.run_phases(beside, monitor)
        finally:
            beside.stop()
            monitor.stop()

    def run_phases(self, beside: Beside, monitor: StackMonitor) -> SoakResult:
        plan = self.plan
        self.tell(f"the capacity is measured for {plan.capacity_s:.0f} s")
        capacity = self.measure_capacity()
        self.tell(f"capacity {capacity:.0f} traces/s; {plan.share:.0%} of it for {plan.steady_s / 60:.1f} minutes")
        before = take_used(self.stack)
        steady = self.sender.send("steady", plan.steady_s, plan.share * capacity)
        used = take_used(self.stack)
        self.tell(f"{plan.overload:g} × the capacity for {plan.overload_s / 60:.1f} minutes")
        rate = plan.overload * capacity
        overload = self.sender.send("overload", plan.overload_s, rate, connections=OVERLOAD_CONNECTIONS)
        began_s = time.monotonic()
        self.wait_until_folded()
        drained_s = time.monotonic() - began_s
        beside.stop()
        self.tell("what had no clear answer is posted again, and all is folded")
        repeated = self.sender.repeat_unknown(FOLD_LIMIT_S)
        self.wait_until_folded()
        monitor.stop()
        status: dict[str, Any] = self.stack.read(PROJECT, self.token, "status")
        accepted = self.ledger.count(ACCEPTED)
        return SoakResult(
            capacity=capacity,
            steady=steady,
            overload=overload,
            drained_s=drained_s,
            done=beside.done,
            used=(before, used),
            looks=monitor.looks,
            accepted=accepted,
            refused=self.ledger.count(REFUSED),
            repeated=repeated,
            status=status,
            differences=list(find_differences(self.stack, self.ledger.expect(), status, accepted)),
        )

    def measure_capacity(self) -> float:
        """Returns the traces per second that are accepted and folded at the same time, with everything else going on.

        There is always something to fold, and never so much that a bound refuses posts.
        """
        began_s = time.monotonic()
        sent = self.send_all_that_is_folded("capacity", self.plan.capacity_s)
        pending, elapsed_s = count_pending(self.stack), time.monotonic() - began_s
        self.wait_until_folded()
        return (len(sent.at_s) - pending) / elapsed_s

    def send_all_that_is_folded(self, name: str, seconds: float) -> Sent:
        """Posts as fast as the answers come, except while many traces are pending."""
        ends_s = time.monotonic() + seconds
        with self.sender.sending(name, connections=CAPACITY_CONNECTIONS) as sent:
            while time.monotonic() < ends_s:
                time.sleep(PENDING_PAUSE_S)
                if count_pending(self.stack) > self.plan.max_pending * PENDING_SHARE:
                    sent.is_open.clear()
                else:
                    sent.is_open.set()
        return sent

    def wait_until_folded(self) -> None:
        self.stack.wait_until_folded({PROJECT: self.token}, limit_s=FOLD_LIMIT_S, pause_s=0.5)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="at the steady rate (default: %(default)s)")
    parser.add_argument("--overload-minutes", type=float, default=2.0, help="beyond it (default: %(default)s)")
    parser.add_argument("--save", type=Path, help="a folder for the logs")
    options = parser.parse_args()
    plan = SoakPlan(steady_s=options.minutes * 60, overload_s=options.overload_minutes * 60)
    result = bench_soak(read_envelopes(), plan, lambda line: print(line, flush=True), options.save)
    print(f"\n{describe_soak(result)}")
    if result.differences:
        raise SystemExit("What was accepted is not what is kept.")
