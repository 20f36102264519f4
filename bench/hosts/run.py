"""What is done to a site on hosts: the corpus, a rolling restart, hosts cut off, and clocks that differ."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.end_to_end import PROJECT
from bench.hosts.oracle import APPS, compare_corpus, read_envelopes
from bench.hosts.projects import create_projects
from bench.hosts.reads import Reader, compare_sources
from bench.hosts.site import Site, run_site
from bench.hosts.trouble import Trouble, cut_off, cut_off_in_transaction, roll
from bench.soak.checking import find_differences
from bench.soak.ledger import ACCEPTED, REFUSED, Ledger
from bench.soak.run import make_visits
from bench.soak.sending import Line, Sender
from bench.soak.watching import open_database

CONNECTIONS: Final = 8
FOLD_LIMIT_S: Final = 600.0
SEED: Final = 1
AGAIN: Final = (None, 429, 503)
AGAIN_S: Final = 0.5
SETTINGS: Final = {"FIELDFLAME_FOLD_BATCH_TRACES": "8"}  # many transactions
CUT_OFF: Final = ("worker1", "web1", "valkey", "replica", "db")
# Of the largest difference: each host has a clock of its own.
SKEWS: Final = {
    **{"db": 0.15, "valkey": -0.1, "web1": 0.5, "web2": -0.4, "beat1": -0.45, "beat2": 0.25},
    **{"worker1": 0.45, "worker2": -0.5, "worker3": 0.35, "worker4": -0.2},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostsPlan:
    """What to do: posts per second, how long a host is cut off, and by how much clocks differ. 0 leaves a part out."""

    rate: float
    cut_s: float
    skew_s: float
    is_rolled: bool


@dataclass(slots=True, kw_only=True)
class HostsResult:
    """What came of it. `differences` are what was lost, counted twice, or changed: there must be none."""

    plan: HostsPlan
    corpus_traces: int
    corpus_s: float
    troubles: Sequence[Trouble]
    accepted: int
    repeated: int
    differences: Sequence[str]


def bench_hosts(
    recorded: Sequence[dict[str, Any]],
    corpus: Path,
    plan: HostsPlan,
    tell: Callable[[str], object],
    logs: Path | None = None,
) -> HostsResult:
    """Runs a site, and does what the plan says. `tell` gets a line at each part."""
    tell("hosts are started, each with one part")
    with run_site(SETTINGS, skews_s=spread_clocks(plan.skew_s), logs=logs) as site:
        tokens = create_projects(site, [*APPS, PROJECT])
        traces, visits = make_visits(recorded, is_chunked=False)
        run = HostsRun(site, Ledger(traces, visits, seed=SEED), tokens, tell)
        tell("the corpus is posted, and its sums are compared with the reference's")
        sent, corpus_s = run.post_corpus(corpus)
        with open_database(site) as connection:
            differences = compare_corpus(connection, corpus)
        tell("the replica is asked, and answers what the database does")
        differences += compare_sources(site, {app: tokens[app] for app in APPS}, "functions")
        troubles = list(run.make_trouble(plan))
        tell("what had no clear answer is posted again, and all is folded")
        repeated = run.sender.repeat_unknown(FOLD_LIMIT_S)
        site.wait_until_folded(tokens, limit_s=FOLD_LIMIT_S)
        status, accepted = site.read(PROJECT, tokens[PROJECT], "status"), run.ledger.count(ACCEPTED)
        differences += find_differences(site, run.ledger.expect(), status, accepted) if accepted else []
        if refused := run.ledger.count(REFUSED):
            differences.append(f"{refused} posts were refused")
        return HostsResult(
            plan=plan,
            corpus_traces=sent,
            corpus_s=corpus_s,
            troubles=troubles,
            accepted=accepted,
            repeated=repeated,
            differences=differences,
        )


class HostsRun:
    """A run under way."""

    def __init__(self, site: Site, ledger: Ledger, tokens: dict[str, str], tell: Callable[[str], object]) -> None:
        self.site = site
        self.ledger = ledger
        self.tokens = tokens
        self.tell = tell
        self.sender = Sender(site.port, ledger, CONNECTIONS)

    def post_corpus(self, corpus: Path) -> tuple[int, float]:
        """Posts all recorded traces, and waits until they are folded; returns how many, and the seconds."""
        began_s = time.monotonic()
        bodies = [(app, json.dumps(envelope).encode()) for app, envelope in read_envelopes(corpus)]
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(lambda each: self._post(*each), bodies))
        self.site.wait_until_folded({app: self.tokens[app] for app in APPS}, limit_s=FOLD_LIMIT_S)
        return len(bodies), time.monotonic() - began_s

    def _post(self, app: str, body: bytes) -> None:
        """Posts a trace, again if the site is busy, as a page does. Raises `RuntimeError` if it is refused."""
        line, deadline_s = Line(self.site.port, app), time.monotonic() + FOLD_LIMIT_S
        while (answer := line.post(body))[0] != 202:
            if answer[0] not in AGAIN or time.monotonic() > deadline_s:
                raise RuntimeError(f"a trace of the corpus was answered {answer}")
            time.sleep(AGAIN_S)
        line.close()

    def make_trouble(self, plan: HostsPlan) -> Iterator[Trouble]:
        """Yields each trouble after it is over, and its traces are folded."""
        if plan.is_rolled:
            self.tell("each part is restarted in turn, under load")
            yield self._during("rolling restart", plan, lambda: roll(self.site))
        if not plan.cut_s:
            return
        for name in CUT_OFF:
            self.tell(f"{name} is cut off for {plan.cut_s:g} s, under load")
            yield self._during(f"{name} cut off", plan, lambda name=name: cut_off(self.site, name, plan.cut_s))  # type: ignore[misc]  # a default binds it
        self.tell(f"worker2 is cut off for {plan.cut_s:g} s in the middle of a transaction")
        yield self._during(
            "worker2 cut off in a transaction", plan, lambda: cut_off_in_transaction(self.site, "worker2", plan.cut_s)
        )

    def _during(self, name: str, plan: HostsPlan, make: Callable[[], dict[str, float]]) -> Trouble:
        reading = Reader(site=self.site, slug=PROJECT, token=self.tokens[PROJECT])
        with reading as reader, self.sender.sending(name, plan.rate) as sent:
            seconds = make()
        began_s = time.monotonic()
        self.site.wait_until_folded({PROJECT: self.tokens[PROJECT]}, limit_s=FOLD_LIMIT_S)
        return Trouble(
            name=name, sent=sent, reader=reader, seconds={**seconds, "folded after": time.monotonic() - began_s}
        )


def spread_clocks(skew_s: float) -> dict[str, float]:
    """Returns by how many seconds each host's clock is ahead. No two differ by more than `skew_s`."""
    return {name: share * skew_s for name, share in SKEWS.items()} if skew_s else {}
