"""The phases of a soak: capacity, steady load, overload, restarts, and the account at the end."""

import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.end_to_end import PROJECT
from bench.soak.beside import Beside, BesideCounts, take_census
from bench.soak.checking import find_differences
from bench.soak.history import HISTORY, REFOLDED
from bench.soak.ledger import ACCEPTED, REFUSED, Ledger
from bench.soak.restarting import Restart, restart_under_load
from bench.soak.sending import Sender, Sent
from bench.soak.traces import SoakTrace, cut_as_snippet, prepare
from bench.soak.watching import Look, Used, Watch, count_pending, take_used
from config.up.running import RunningStack, run_stack

FOLD_LIMIT_S: Final = 3_600.0
CONNECTIONS: Final = 64
OVERLOAD_CONNECTIONS: Final = 256  # who waits for an answer sends nothing meanwhile, and 64 would be too few for 2 ×
CAPACITY_CONNECTIONS: Final = 16
WARM_S: Final = 10.0
PENDING_PAUSE_S: Final = 0.25
PENDING_SHARE: Final = 0.1  # of the bound of pending traces, while the capacity is measured
LATE_VIEWS: Final = 10  # one in so many views is posted in two parts
SEED: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakPlan:
    """What to do: the steady rate and the overload as shares of the capacity, times in seconds."""

    steady_s: float
    share: float
    overload: float
    overload_s: float
    capacity_s: float
    around_restart_s: float
    max_pending: int
    history_traces: int
    upkeep_every_s: float
    look_every_s: float
    is_chunked: bool = False


@dataclass(slots=True, kw_only=True)
class SoakResult:
    """What a soak gave. `differences` are what was lost, counted twice, or changed: there must be none."""

    plan: SoakPlan
    capacity: float
    steady: Sent
    overload: Sent
    drained_s: float
    restarts: Sequence[Restart]
    done: BesideCounts
    census: tuple[dict[str, int], dict[str, int]]
    used: tuple[Used, Used]
    looks: Sequence[Look]
    accepted: int
    refused: int
    repeated: int
    status: dict[str, Any]
    differences: Sequence[str]


def bench_soak(
    recorded: Sequence[dict[str, Any]],
    corpus: Path,
    plan: SoakPlan,
    tell: Callable[[str], object],
    logs: Path | None = None,
) -> SoakResult:
    """Soaks a whole Fieldflame in a fresh folder. `tell` gets a line at each phase, and `logs` the logs at the end."""
    traces, visits = make_visits(recorded, is_chunked=plan.is_chunked)
    with run_stack(make_environment(plan)) as stack:
        ledger = Ledger(traces, visits, seed=SEED)
        try:
            return Soak(stack, ledger, corpus, plan, tell).run()
        finally:
            if logs is not None:
                shutil.copytree(stack.folder.logs, logs, dirs_exist_ok=True)


def make_environment(plan: SoakPlan) -> dict[str, str]:
    """Returns settings under which a soak of half an hour has something to delete, to merge and to refuse."""
    return {
        "FIELDFLAME_MAX_PENDING": str(plan.max_pending),
        "FIELDFLAME_MERGE_AFTER_HOURS": "1",
        "FIELDFLAME_ROLL_UP_AFTER_HOURS": "1",
        "FIELDFLAME_KEEP_RAW_DAYS": "2",
        "FIELDFLAME_KEEP_VIEWS_DAYS": "4",
    }


def make_visits(recorded: Sequence[dict[str, Any]], *, is_chunked: bool) -> tuple[list[SoakTrace], list[list[int]]]:
    """Returns all traces, and for each recorded view those that it sends.

    Chunked, it sends them as the snippet would. Otherwise it sends its trace at once, or every tenth view twice: so
    there are views that grow.
    """
    traces: list[SoakTrace] = []
    visits = []
    for number, envelope in enumerate(recorded):
        parts = list(cut_as_snippet(envelope)) if is_chunked else [envelope]
        own = range(len(traces), len(traces) + len(parts))
        traces += map(prepare, parts)
        visits.append([*own] * (2 if not is_chunked and number % LATE_VIEWS == 0 else 1))
    return traces, visits


class Soak:
    """A soak under way."""

    def __init__(
        self, stack: RunningStack, ledger: Ledger, corpus: Path, plan: SoakPlan, tell: Callable[[str], object]
    ) -> None:
        self.stack = stack
        self.ledger = ledger
        self.corpus = corpus
        self.plan = plan
        self.tell = tell
        self.sender = Sender(stack.port, ledger, CONNECTIONS)
        self.token = stack.create_project(PROJECT)

    def run(self) -> SoakResult:
        plan = self.plan
        self.tell("a past to delete is stored, and the first traces are posted")
        self.stack.manage("bench", "soak-here", "--corpus", str(self.corpus), "--traces", str(plan.history_traces))
        self.send_all_that_is_folded("warm", WARM_S)
        found = json.loads(self.stack.manage("bench", "addresses-here", "--project", PROJECT))
        beside = Beside(
            self.stack,
            cookie=found["cookie"],
            addresses=found["addresses"],
            soak_s=plan.steady_s,
            every_s=plan.upkeep_every_s,
        )
        watch = Watch(self.stack, PROJECT, every_s=plan.look_every_s)
        census = take_census(self.stack)
        beside.start()
        watch.start()
        try:
            self.send_all_that_is_folded("warm", WARM_S)  # upkeep has most to do at first
            self.wait_until_folded()
            return self.run_phases(beside, watch, census)
        finally:
            beside.stop()
            watch.stop()

    def run_phases(self, beside: Beside, watch: Watch, census: dict[str, int]) -> SoakResult:
        plan = self.plan
        self.tell(f"the capacity is measured for {plan.capacity_s:.0f} s")
        capacity = self.measure_capacity()
        self.tell(f"capacity {capacity:.0f} traces/s; {plan.share:.0%} of it for {plan.steady_s / 60:.1f} minutes")
        before = take_used(self.stack)
        steady = self.sender.send("steady", plan.steady_s, plan.share * capacity)
        used = take_used(self.stack)
        census_after = take_census(self.stack)
        self.tell(f"{plan.overload:g} × the capacity for {plan.overload_s / 60:.1f} minutes")
        overload = self.sender.send(
            "overload", plan.overload_s, plan.overload * capacity, connections=OVERLOAD_CONNECTIONS
        )
        began_s = time.monotonic()
        self.wait_until_folded()
        drained_s = time.monotonic() - began_s
        self.tell("PostgreSQL and Valkey are restarted under load")
        restarts = restart_under_load(
            self.stack, self.sender, rate=plan.share * capacity, seconds=plan.around_restart_s
        )
        beside.stop()
        self.tell("what had no clear answer is posted again, and all is folded")
        repeated = self.sender.repeat_unknown(FOLD_LIMIT_S)
        self.wait_until_folded([HISTORY, REFOLDED])
        watch.stop()
        status = self.stack.read(PROJECT, self.token, "status")
        accepted = self.ledger.count(ACCEPTED)
        return SoakResult(
            plan=plan,
            capacity=capacity,
            steady=steady,
            overload=overload,
            drained_s=drained_s,
            restarts=restarts,
            done=beside.done,
            census=(census, census_after),
            used=(before, used),
            looks=watch.looks,
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
        sent, pending = self.send_all_that_is_folded("capacity", self.plan.capacity_s)
        elapsed_s = time.monotonic() - began_s
        self.wait_until_folded()
        return (len(sent.at_s) - pending) / elapsed_s

    def send_all_that_is_folded(self, name: str, seconds: float) -> tuple[Sent, int]:
        """Posts as fast as the answers come, except while many traces are pending; returns how many are at the end."""
        ends_s = time.monotonic() + seconds
        with self.sender.sending(name, connections=CAPACITY_CONNECTIONS) as sent:
            while time.monotonic() < ends_s:
                time.sleep(PENDING_PAUSE_S)
                pending, _ = count_pending(self.stack, PROJECT)
                if pending > self.plan.max_pending * PENDING_SHARE:
                    sent.is_open.clear()
                else:
                    sent.is_open.set()
        return sent, count_pending(self.stack, PROJECT)[0]

    def wait_until_folded(self, others: Sequence[str] = ()) -> None:
        tokens = {PROJECT: self.token, **{slug: self.stack.create_token(slug) for slug in others}}
        self.stack.wait_until_folded(tokens, limit_s=FOLD_LIMIT_S, pause_s=0.5)
