"""What folding, reading and deleting cost in a project of one size: processor time, here and in PostgreSQL."""

import gzip
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID, uuid5

from django.conf import settings
from django.db import connection

from aggregate.fold.pending import BatchOutcome, fold_pending_batch
from aggregate.maintenance.retention import expire_all
from aggregate.selectors.slice.slices import Slice, SliceQuery, resolve_slice
from aggregate.selectors.statistics.comparisons import compare_slices
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from benchmarks.reads.queries import write_export
from benchmarks.shared.fill import DAYS, LAST_RELEASE, PRIOR_RELEASE, TOP_PAGE, fill_project
from benchmarks.shared.posting import post_here
from benchmarks.shared.processes import tree_s
from projects.models import IngestKey, Project
from tests.corpus import NAMESPACE, corpus_envelopes

FOLDED_TRACES: Final = 100  # a batch
ROUNDS: Final = 5
LEAST_S: Final = 2.0  # elapsed: PostgreSQL's processor time is counted in steps of 10 ms
EXPIRED_DAYS: Final = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """The processor time of one piece of work, ms, as a mean of several."""

    work: str
    ms: float


def measure_costs(views: int, most_rows: int) -> tuple[int, list[Cost]]:
    """Fills this database with about `views` views; returns the number of their rows, and the costs.

    Of more than `most_rows` views, only some get rows of their own; all sums are those of all views.
    """
    thin = -(-views // most_rows)
    project, rows = fill_project("curves", views, thin=thin)
    meter = _Meter()
    _vacuum()
    costs = [Cost(f"fold {FOLDED_TRACES} traces into it", _measure_folds(project, meter))]
    costs += [Cost(work, meter.measure(ask)) for work, ask in _questions(project).items()]
    costs.append(Cost("delete the oldest day", _measure_retention(project, meter)))
    return rows, costs


class _Meter:
    """The processor time of this process and of the whole server of its database, which must do nothing else."""

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_read_file('postmaster.pid')")
            (text,) = cursor.fetchone()
        self.postmaster = int(text.split()[0])

    def time(self, work: Callable[[], object]) -> float:
        """Returns the ms that some work took."""
        there = tree_s(self.postmaster)  # reading it takes time itself
        here = time.process_time()
        work()
        here = time.process_time() - here
        return (here + tree_s(self.postmaster) - there) * 1000

    def measure(self, work: Callable[[], object]) -> float:
        """Returns the mean ms of some work that can be repeated, after a first time that does not count."""
        work()
        rounds, spent_ms, began = 0, 0.0, time.monotonic()
        while rounds < ROUNDS or time.monotonic() < began + LEAST_S:
            spent_ms += self.time(work)
            rounds += 1
        return spent_ms / rounds


def _vacuum() -> None:
    """Leaves nothing to the server's own vacuum, which would work while something is measured."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER SYSTEM SET autovacuum = off")
        cursor.execute("SELECT pg_reload_conf()")
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")


def _questions(project: Project) -> dict[str, Callable[[], object]]:
    def sliced(release: str = "", page: str = "") -> Slice:
        query = SliceQuery(release=[release] if release else [], page=[page] if page else [])
        return resolve_slice(project.pk, query)

    table = TableQuery(limit=100)
    return {
        "functions of the busiest page": lambda: select_estimated(sliced(page=TOP_PAGE), table),
        "functions of all pages": lambda: select_estimated(sliced(), table),
        "compare two releases on the busiest page": lambda: compare_slices(
            sliced(PRIOR_RELEASE, TOP_PAGE), sliced(LAST_RELEASE, TOP_PAGE)
        ),
        "compare two releases on all pages": lambda: compare_slices(sliced(PRIOR_RELEASE), sliced(LAST_RELEASE)),
        "Firefox profile of everything": lambda: write_export(project, "firefox"),
    }


def _measure_folds(project: Project, meter: _Meter) -> float:
    """Returns the mean ms of folding a batch of new views of the busiest page into the present hour."""
    bodies, key = _make_batches(), IngestKey.objects.get(project=project)
    times = []
    for _ in range(ROUNDS + 1):
        post_here(key.public_key, next(bodies))
        times.append(meter.time(_fold_all))
    return sum(times[1:]) / ROUNDS  # the first one meets functions that are new to this process


def _make_batches() -> Iterator[bytes]:
    """Yields posts of new views, whose functions are those that the fill gave to the busiest page."""
    recorded: dict[tuple[str, str], list[dict[str, object]]] = {}
    for app, envelope in corpus_envelopes():
        recorded.setdefault((app, envelope["page"]), []).append(envelope)
    envelopes = recorded[min(recorded)]
    number = 0
    while True:
        batch = []
        for _ in range(FOLDED_TRACES):
            view = uuid5(NAMESPACE, f"curves:{number}")
            changed = {"page": TOP_PAGE, "release": LAST_RELEASE, "timeOrigin": time.time() * 1000}
            changed |= {"viewId": str(view), "traceId": str(UUID(int=view.int ^ 1)), "viewStart": changed["timeOrigin"]}
            batch.append({**envelopes[number % len(envelopes)], **changed})
            number += 1
        yield gzip.compress(json.dumps(batch, separators=(",", ":")).encode(), 6)


def _fold_all() -> None:
    while fold_pending_batch() is not BatchOutcome.NOTHING_PENDING:
        pass


def _measure_retention(project: Project, meter: _Meter) -> float:
    """Returns the mean ms of deleting a day: its views, receipts, cells and all sums of them."""
    settings.KEEP_RECEIPTS_DAYS = 1  # they are kept no longer than cells
    times = []
    for days in range(DAYS, 0, -1):
        Project.objects.filter(pk=project.pk).update(keep_views_days=days, keep_cells_days=days)
        now = datetime.now(UTC)
        views = 0

        def expire(now: datetime = now) -> None:
            nonlocal views
            views = expire_all(now).views

        ms = meter.time(expire)
        if views:
            times.append(ms)
        if len(times) == EXPIRED_DAYS:
            break
    return sum(times) / len(times)
