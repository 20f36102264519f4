"""`bench soak` posts what the ledger says, judges memory and pending traces, and finds what was lost."""

import gzip
import json
from dataclasses import replace
from datetime import date
from types import SimpleNamespace
from typing import Any, Final, cast
from uuid import UUID

import pytest
from django.db import connection

from bench.corpus import read_corpus
from bench.end_to_end import PROJECT
from bench.memory.whole import Share
from bench.posting import post_here
from bench.soak import run
from bench.soak.checking import find_differences
from bench.soak.ledger import ACCEPTED, REFUSED, UNKNOWN, Ledger
from bench.soak.memory import make_rows
from bench.soak.report import describe_soak, is_pending_flat, list_promises
from bench.soak.restarting import find_longest_pause
from bench.soak.run import SoakPlan, bench_soak, make_visits
from bench.soak.traces import cut_as_snippet, prepare
from bench.soak.watching import DISK, Look
from config.up.running import RunningStack
from ingest.partitions import create_partitions
from ingest.projects.creation import create_project
from profcore.trace.weights import TIME_PART_NAMES
from profcore.trace.wire import Limits, decode_envelope
from tests.aggregate.posting import database_url, fold_all, rows
from tests.corpus import DATA
from tests.envelopes import make_envelope

VIEW: Final = UUID(int=7)
PLAN: Final = SoakPlan(
    steady_s=12,
    share=0.5,
    overload=2,
    overload_s=6,
    capacity_s=3,
    around_restart_s=1,
    max_pending=300,
    history_traces=100,
    upkeep_every_s=2,
    look_every_s=0.5,
)


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
    own = {"viewId": str(VIEW), "seq": 3, "timeOrigin": 1_795_256_990_131.5, "viewStart": 1_795_256_990_131.5}
    assert sent == {**recorded, **own}


def test_the_chunks_of_a_view_have_all_its_samples_and_only_the_stacks_they_need() -> None:
    recorded = [envelope for _, envelope in read_corpus(DATA / "corpus.jsonl.gz")][7]
    chunks = list(cut_as_snippet(recorded))
    assert len(chunks) > 2
    assert sum(len(chunk["trace"]["samples"]) for chunk in chunks) == len(recorded["trace"]["samples"])
    assert sum(len(chunk["marks"]) for chunk in chunks) == len(recorded["marks"])
    for chunk in chunks:
        decode_envelope(json.dumps(chunk).encode(), Limits())  # checks every id
        assert len(chunk["trace"]["stacks"]) < len(recorded["trace"]["stacks"])


def test_the_ledger_expects_the_sums_of_what_was_accepted_and_of_nothing_else() -> None:
    traces, visits = make_visits([make_recorded("a", "A\nA B\n-")], is_chunked=False)
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
    share = Share(part="web", pid=5, title="", pss_mb=0, own_mb=0, rss_mb=0, peak_mb=0, shared_mb=0)
    return [
        Look(at_s=10.0 * n, shares=[replace(share, pss_mb=size)], pending=count, oldest_s=0.0)
        for n, (size, count) in enumerate(zip(mb, pending, strict=True))
    ]


def test_memory_that_rises_at_the_start_only_is_flat_and_a_leak_is_not() -> None:
    warm, leak = [min(100.0 + 10 * n, 150.0) for n in range(30)], [100.0 + n for n in range(30)]
    whole, web = make_rows(make_looks(warm, [0] * 30))
    assert (web.is_flat, web.slope_mb_per_h, web.peak_mb) == (True, 0.0, 150.0)
    assert whole.at_mb[0] == 100.0
    _, web = make_rows(make_looks(leak, [0] * 30))
    assert not web.is_flat
    assert web.slope_mb_per_h == pytest.approx(360.0)


def test_pending_traces_that_rise_all_the_time_are_not_flat() -> None:
    assert is_pending_flat(make_looks([1.0] * 9, [300, 500, 200, 400, 300, 500, 300, 200, 400]), 100)
    assert not is_pending_flat(make_looks([1.0] * 9, [100 * n for n in range(9)]), 100)


def test_the_longest_time_without_an_answer_is_found() -> None:
    assert find_longest_pause([0.0, 1.0, 4.5, 5.0]) == 3.5


@pytest.mark.django_db(transaction=True)
def test_what_is_lost_or_changed_is_found() -> None:
    create_project(slug=PROJECT, key=PROJECT, origins=["*"])
    traces, visits = make_visits([make_recorded("a", "A\nA B\n-")], is_chunked=False)
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


@pytest.mark.slow(100)
@pytest.mark.stack
@pytest.mark.kills
def test_a_short_soak_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With overload, and both stores restarted; nothing is said of times and sizes here."""
    monkeypatch.setattr(run, "WARM_S", 2.0)
    monkeypatch.setattr(run, "OVERLOAD_CONNECTIONS", 64)
    recorded = [envelope for _, envelope in read_corpus(DATA / "corpus.jsonl.gz")][::20]
    told: list[str] = []
    result = bench_soak(recorded, DATA / "corpus.jsonl.gz", replace(PLAN, is_chunked=True), told.append)
    assert result.differences == []
    assert result.status["received"] == result.accepted > 100
    assert [restart.store for restart in result.restarts] == ["postgres", "valkey"] * 2
    kept = dict(list_promises(result))
    assert kept["nothing accepted is lost, changed, or counted twice"]
    assert kept["whatever is refused in the overload is answered 429 or 503 with Retry-After"], result.overload.other
    assert kept["in restarts, nothing is answered but 202, 429 and 503"]
    assert kept["no read fails, except by 503 with Retry-After"], result.done.failed
    assert result.done.times["upkeep"] > 1
    before, after = result.census
    assert after["days of raw traces"] < before["days of raw traces"]
    assert after["cells rolled up"] > 0
    text = describe_soak(result)
    assert max(result.done.rises.values()) > 0
    for word in (
        "postgres, its buffers",
        "rose most while",
        "restart of valkey by SIGKILL",
        "hours of a processor",
        "account: ",
    ):
        assert word in text
