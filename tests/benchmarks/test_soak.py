"""`benchmarks soak` posts what the ledger says, judges memory and pending traces, and finds what was lost."""

import gzip
import json
from dataclasses import replace
from datetime import date
from types import SimpleNamespace
from typing import Any, Final, cast
from uuid import UUID

import pytest
from django.db import connection

from benchmarks.shared.load import PROJECT, read_envelopes
from benchmarks.shared.posting import post_here
from benchmarks.shared.processes import Share
from benchmarks.soak import soak
from benchmarks.soak.checking import find_differences
from benchmarks.soak.ledger import ACCEPTED, REFUSED, UNKNOWN, Ledger
from benchmarks.soak.report import describe_soak, is_pending_flat, list_promises
from benchmarks.soak.soak import SoakPlan, bench_soak, make_visits
from benchmarks.soak.traces import prepare
from benchmarks.soak.watching import DISK, Look, find_growth, is_flat, sum_parts
from ingest.storage.partitions import create_partitions
from ops.supervisor.running import RunningStack
from profcore.trace.weights import TIME_PART_NAMES
from projects.creation import create_project
from tests.aggregate.posting import database_url, fold_all, rows
from tests.envelopes import make_envelope

VIEW: Final = UUID(int=7)
PLAN: Final = SoakPlan(steady_s=12, share=0.5, overload_s=6, capacity_s=3, max_pending=300)


def make_recorded(view: str, picture: str) -> dict[str, Any]:
    return {"marks": [], **make_envelope(view, picture, page="/cart")}


def test_partitions_count_as_the_table_they_are_part_of(db: None) -> None:
    create_partitions(date(2031, 3, 1), 40)
    sizes = dict(rows(DISK))
    assert min(sizes["ingest_tracereceipt"], sizes["ingest_rawtrace"]) > 0
    partitions = {name for (name,) in rows("SELECT inhrelid::regclass::text FROM pg_inherits")}
    assert "ingest_rawtrace_20310301" in partitions
    assert not partitions & sizes.keys()


def test_a_body_is_the_recorded_envelope_as_another_view() -> None:
    recorded = make_recorded("a", "A\nA B\n-")
    sent = json.loads(gzip.decompress(prepare(recorded).make_body(VIEW, 3, 1_795_256_990_131.5)))
    fields = {"viewId": str(VIEW), "seq": 3, "timeOrigin": 1_795_256_990_131.5, "viewStart": 1_795_256_990_131.5}
    assert sent == {**recorded, **fields}


def test_the_ledger_expects_the_sums_of_what_was_accepted_and_of_nothing_else() -> None:
    traces, visits = make_visits([make_recorded("a", "A\nA B\n-")])
    ledger = Ledger(traces, visits, seed=1)
    posts = [ledger.deal() for _ in range(4)]
    for post, state in zip(posts, (ACCEPTED, ACCEPTED, REFUSED, UNKNOWN), strict=True):
        ledger.states[post] = state
    (group,) = ledger.expect().values()
    assert (group.traces, group.views) == (2, 2)
    span = TIME_PART_NAMES.index("span_us")
    assert group.parts[span] == 2 * traces[0].parts[span] > 0
    assert {func[3]: sums[-1] for func, sums in group.funcs.items()} == {"A": 2, "B": 2}
    assert len({gzip.decompress(ledger.body_of(post)) for post in posts}) == len(posts), "each is another view's"


def make_looks(mb: list[float], pending: list[int]) -> list[Look]:
    share = Share(part="web", pid=5, pss_mb=0, own_mb=0, rss_mb=0, peak_mb=0, shared_mb=0)
    return [
        Look(at_s=10.0 * n, shares=[replace(share, pss_mb=size)], pending=count)
        for n, (size, count) in enumerate(zip(mb, pending, strict=True))
    ]


def test_memory_that_rises_at_the_start_only_is_flat_and_a_leak_is_not() -> None:
    warm = sum_parts(make_looks([min(100.0 + 10 * n, 150.0) for n in range(40)], [0] * 40))["web"]
    leak = sum_parts(make_looks([100.0 + n for n in range(40)], [0] * 40))["web"]
    assert (is_flat(warm), find_growth(warm), max(warm)) == (True, 0.0, 150.0)
    assert (is_flat(leak), find_growth(leak)) == (False, 10.0)


def test_the_buffers_of_postgresql_are_told_apart() -> None:
    share = Share(part="postgres", pid=5, pss_mb=50, own_mb=0, rss_mb=0, peak_mb=0, shared_mb=20)
    sums = sum_parts([Look(at_s=0.0, shares=[share, share], pending=0)])
    assert sums == {"postgres": [60.0], "postgres, its buffers": [40.0]}


def test_pending_traces_that_rise_all_the_time_are_not_flat() -> None:
    assert is_pending_flat(make_looks([1.0] * 9, [300, 500, 200, 400, 300, 500, 300, 200, 400]), 100)
    assert not is_pending_flat(make_looks([1.0] * 9, [100 * n for n in range(9)]), 100)


@pytest.mark.django_db(transaction=True)
def test_what_is_lost_or_changed_is_found() -> None:
    create_project(slug=PROJECT, key=PROJECT, origins=["*"])
    traces, visits = make_visits([make_recorded("a", "A\nA B\n-")])
    ledger = Ledger(traces, visits, seed=1)
    for _ in range(3):
        post = ledger.deal()
        post_here(PROJECT, ledger.body_of(post))
        ledger.states[post] = ACCEPTED
    fold_all()
    stack = cast(RunningStack, SimpleNamespace(store_environment={"DATABASE_URL": database_url()}))
    status = {"received": 3, "folded": 3, "pending": 0, "rejected": 0}
    assert list(find_differences(stack, ledger.expect(), status, 3)) == []
    with connection.cursor() as cursor:
        cursor.execute("UPDATE aggregate_hotspotpiece SET self_us[1] = self_us[1] + 1")
    (changed,) = find_differences(stack, ledger.expect(), status, 3)
    assert "1 of 2 functions differ" in changed
    ledger.states[ledger.deal()] = ACCEPTED
    lost = list(find_differences(stack, ledger.expect(), status, 4))
    assert "3 traces are received, but 4 must be" in lost
    assert any("views is 3, but 4 must be" in sentence for sentence in lost)


@pytest.mark.nightly
@pytest.mark.slow(60)
@pytest.mark.stack
def test_a_short_soak_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With overload; nothing is said of times and sizes here."""
    monkeypatch.setattr(soak, "WARM_S", 2.0)
    monkeypatch.setattr(soak, "OVERLOAD_CONNECTIONS", 64)
    lines: list[str] = []
    result = bench_soak(read_envelopes()[::20], PLAN, lines.append)
    assert result.differences == []
    assert result.status["received"] == result.accepted > 100
    kept = dict(list_promises(result))
    assert kept["nothing accepted is lost, changed, or counted twice"]
    assert kept["whatever is refused in the overload is answered 429 or 503 with Retry-After"], result.overload.other
    assert kept["no read fails, except by 503 with Retry-After"], result.done.failed
    assert result.done.tasks > 1
    text = describe_soak(result)
    for word in ("postgres, its buffers", "hours of a processor", "account: "):
        assert word in text
