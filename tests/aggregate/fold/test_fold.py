"""What a fold writes, on a real Postgres."""

import random
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from django.db import connection

from aggregate.fold.pending import BatchOutcome
from profcore.caching import clear_caches
from profcore.times import start_of_hour
from profcore.trace.dimensions import NAVIGATIONS
from projects.creation import create_project
from tests.aggregate.posting import HOTSPOTS, everything, fold_all, post, rows
from tests.envelopes import TIME_ORIGIN_MS, make_envelope

pytestmark = pytest.mark.django_db


def clear_folds() -> None:
    """Empties all tables but the project's, so that the same posts can be folded again."""

    clear_caches()
    clear_caches()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(
            """TRUNCATE ingest_tracereceipt, ingest_rawtrace, ingest_group, ingest_counter, aggregate_func,
                        aggregate_cell, aggregate_hotspotpiece, aggregate_pageview, aggregate_calltreepiece"""
        )


def test_a_trace_becomes_hotspots_with_self_and_total(key: str) -> None:
    post(key, make_envelope(columns="A\nA B\nA B\n-"))
    assert fold_all() == [BatchOutcome.FOLDED]
    by_name = {row[10]: row[11:] for row in rows(HOTSPOTS)}
    # self_samples, total_samples, self_us, total_us, hidden_us, hidden_total_us, views
    assert by_name == {"A": (1, 3, 10_000, 30_000, 0, 0, 0, 1), "B": (2, 2, 20_000, 20_000, 0, 0, 0, 1)}


def test_the_parts_of_time_of_a_cell_add_up_to_its_span(key: str) -> None:
    post(key, make_envelope(columns="A\n-\n-", marks=[{"type": "longtask", "start": 10, "duration": 10}]))
    fold_all()
    parts = rows("SELECT js_us, hidden_us, idle_us, unobserved_us, profiler_us, span_us FROM aggregate_cell")
    assert parts == [(10_000, 10_000, 10_000, 0, 0, 30_000)]


def test_a_view_in_several_traces_gives_identical_rows_in_any_order(key: str) -> None:
    parts = [
        make_envelope("v", "A\nA B", seq=0),
        make_envelope("v", "A B\nC\n-", seq=1, reason="pagehide"),
        make_envelope("v", "-\nA C", seq=2),
    ]
    # All three are received first: what a view's cell is depends on the first receipt, not on the order of folding.
    results = []
    for order in permutations(parts):
        clear_folds()
        for part in parts:
            post(key, part)
        for part in order:
            hold_back = [other["seq"] for other in parts if other["seq"] != part["seq"]]
            fold_only(part["seq"], hold_back)
        results.append(everything())
    clear_folds()
    post(key, *parts)
    fold_all()
    results.append(everything())
    assert all(result == results[0] for result in results)
    hotspots, cells, _, contributions = results[0]
    assert [row[7] for row in cells] == [1]  # one view
    assert {row[10]: row[18] for row in hotspots} == {"A": 1, "B": 1, "C": 1}
    assert contributions[0][1:3] == (3, True)


def fold_only(seq: int, others: list[int]) -> None:
    """Folds one sequence number, the others' claims being held by a lease."""
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE ingest_tracereceipt SET claimed_until = now() + interval '1 hour'
               WHERE state = 0 AND seq = ANY(%s)""",
            [others],
        )
        cursor.execute("UPDATE ingest_tracereceipt SET claimed_until = NULL WHERE state = 0 AND seq = %s", [seq])
    fold_all()


def test_batching_changes_no_sum(key: str, settings: pytest.FixtureRequest) -> None:
    shapes = ["A\nA B\n-", "A B C\nA B\nD", "-\n-", "D\nD E\nA", "A A A\nB A B"]
    envelopes = [make_envelope(f"v{n}", shapes[n % 5], page=f"/p{n % 3}", seq=n % 2) for n in range(40)]
    results = []
    for batch_size in (200, 7, 1):
        clear_folds()
        settings.FOLD_BATCH_TRACES = batch_size  # type: ignore[attr-defined]  # pytest-django's settings
        random.Random(batch_size).shuffle(envelopes)
        post(key, *envelopes)
        fold_all()
        results.append(everything())
    assert results[0] == results[1] == results[2]


def test_a_repost_after_the_fold_changes_nothing(key: str) -> None:
    post(key, make_envelope())
    fold_all()
    before = everything()
    post(key, make_envelope())
    assert fold_all() == []
    assert everything() == before


def test_a_view_without_javascript_counts_as_a_view(key: str) -> None:
    post(key, make_envelope("busy", "A"), make_envelope("calm", "-\n-"), make_envelope("empty", ""))
    fold_all()
    assert rows("SELECT sum(views), sum(traces), sum(js_us) FROM aggregate_cell") == [(3, 3, 10_000)]


def test_a_damaged_raw_body_is_rejected_and_its_neighbours_are_folded(key: str) -> None:
    post(key, make_envelope("good"), make_envelope("bad"))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ingest_rawtrace SET body = '{', is_gzip = false WHERE view_id = %s",
            [make_envelope("bad")["viewId"]],
        )
    fold_all()
    receipts = rows("SELECT state, reason, path FROM ingest_tracereceipt ORDER BY state")
    assert receipts == [(1, None, None), (2, "invalid_json", "$")]
    assert rows("SELECT sum(traces) FROM aggregate_cell") == [(1,)]


def test_a_raw_body_that_is_gone_is_rejected_with_that_reason(key: str) -> None:
    post(key, make_envelope())
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_rawtrace")
    fold_all()
    assert rows("SELECT state, reason FROM ingest_tracereceipt") == [(2, "body_missing")]


def test_names_postgres_cannot_store_are_folded_all_the_same(key: str) -> None:
    envelope = make_envelope(columns="X")
    envelope["trace"]["frames"][0]["name"] = "nul\0name\u00e2\u0082\u00ac"
    post(key, envelope)
    fold_all()
    assert [row[10] for row in rows(HOTSPOTS)] == ["nul\ufffdname€"]


def test_a_view_belongs_to_the_hour_of_its_start_clamped_to_seven_days(key: str) -> None:
    now = datetime.now(UTC)
    for days, view in ((0.1, "recent"), (30, "ancient"), (-2, "future")):
        start = now - timedelta(days=days)
        post(key, make_envelope(view, "A", viewStart=start.timestamp() * 1000, page=f"/{view}"))
    fold_all()
    starts = dict(
        rows(
            """SELECT g.page, c.starts_at FROM aggregate_cell c
               JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id"""
        )
    )
    assert starts["/recent"] == start_of_hour(now - timedelta(days=0.1))
    assert abs(starts["/ancient"] - start_of_hour(now - timedelta(days=7))) <= timedelta(hours=1)
    assert abs(starts["/future"] - start_of_hour(now)) <= timedelta(hours=1)


def test_a_view_keeps_the_cell_of_its_first_receipt(key: str) -> None:
    start_ms = TIME_ORIGIN_MS
    post(key, make_envelope("v", "A", seq=1, viewStart=start_ms, device={"mobile": True, "cores": 2}))
    post(key, make_envelope("v", "A", seq=0, viewStart=start_ms - 7_200_000, device={"mobile": False, "cores": 16}))
    fold_all()
    assert rows("SELECT count(*), sum(views), sum(traces) FROM aggregate_cell WHERE traces > 0") == [(1, 1, 2)]


def test_a_view_keeps_the_navigation_of_its_first_receipt(key: str) -> None:
    post(key, make_envelope("v", "A", seq=1, navigation="reload"))
    post(key, make_envelope("v", "A", seq=0, navigation="route"), make_envelope("w", "A"))
    fold_all()
    cells = rows("SELECT navigation, views, traces FROM aggregate_cell WHERE traces > 0 ORDER BY 1")
    assert [(NAVIGATIONS[code], *sums) for code, *sums in cells] == [("unknown", 1, 1), ("reload", 1, 2)]


def test_two_projects_never_share_a_row(key: str) -> None:
    create_project(slug="other", key="other-key", origins=["*"])
    post(key, make_envelope("v", "A"))
    post("other-key", make_envelope("v", "A\nA"))
    fold_all()
    sums = rows("SELECT project_id, sum(self_us) FROM aggregate_hotspot GROUP BY 1 ORDER BY 1")
    assert [total for _, total in sums] == [10_000, 20_000]
    assert rows("SELECT count(DISTINCT digest) FROM aggregate_func") == [(2,)]


def test_markers_are_kept_as_a_second_total(key: str) -> None:
    envelope = make_envelope(columns="A\n-\n-")
    envelope["trace"]["samples"][0]["marker"] = "script"
    envelope["trace"]["samples"][1]["marker"] = "gc"
    post(key, envelope, make_envelope("plain", "A"), envelope | {"seq": 1})
    fold_all()
    assert rows("SELECT marker_us, js_us, hidden_us FROM aggregate_cell") == [
        ([20_000, 20_000, 0, 0, 0, 0], 30_000, 20_000)
    ]


def test_functions_of_a_call_chain_are_neighbours_by_id(key: str) -> None:
    """So contributions have small steps between ids, and totals that repeat from one function to the next."""
    post(key, make_envelope("a", "Z Y X W V U T\nZ Y M L K"))
    fold_all()
    assert "".join(name for (name,) in rows("SELECT name FROM aggregate_func ORDER BY id")) == "ZYXWVUTMLK"
