"""What holds for the sums of any traffic, through the real database: each property on generated, awkward traces."""

from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from django.test import override_settings
from hypothesis import assume, given
from hypothesis import strategies as st

from aggregate.fold.hotspots import add_to_hotspots
from aggregate.fold.rollups import roll_up_hours
from aggregate.fold.writes import add_to_cells, load_views, negate
from aggregate.maintenance.erasing import delta_of, erase_view
from aggregate.maintenance.merging import merge_old_hours
from aggregate.maintenance.refolding import CellOutcome, Scope, finish_run, list_cells, reset_cell, start_run
from tests.aggregate.expected_sums import (
    assert_stored,
    cells_of,
    enter,
    hotspots_of,
    read_cells,
    read_hotspots,
    read_trees,
    read_views,
    trees_of,
    views_of,
)
from tests.aggregate.fresh_projects import fresh_project
from tests.aggregate.generated_traffic import NOW, Json, casts, envelope_of, recordings, traffic
from tests.aggregate.posting import fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact, dump_rows
from tests.properties import bounded

pytestmark = [pytest.mark.django_db, pytest.mark.slow(30)]

# A plan of arrival: a permutation by random keys, re-posts, where posts and folds end, and how large a batch may be.
plans = st.fixed_dictionaries(
    {
        "order": st.randoms(use_true_random=False),
        "again": st.lists(st.integers(0, 30), max_size=4),
        "posts": st.lists(st.integers(1, 4), min_size=1, max_size=6),
        "folds": st.lists(st.booleans(), min_size=1, max_size=6),
        "batch": st.integers(1, 5),
        "pieces": st.integers(1, 3),
    }
)


def arrive(envelopes: list[Json], plan: dict[str, Any]) -> None:
    """Posts and folds envelopes after a plan, some of them twice."""
    queue = envelopes + [envelopes[n % len(envelopes)] for n in plan["again"]]
    plan["order"].shuffle(queue)
    turn = 0
    with override_settings(
        FOLD_BATCH_TRACES=plan["batch"], CALLTREE_MAX_PIECES=plan["pieces"], HOTSPOT_MAX_PIECES=plan["pieces"]
    ):
        while queue:
            size = plan["posts"][turn % len(plan["posts"])]
            post("shop", *queue[:size])
            if plan["folds"][turn % len(plan["folds"])]:
                fold_all()
            queue, turn = queue[size:], turn + 1
        fold_all()


def assert_parts_sum() -> None:
    """Checks the sum of the parts of each stored view, cell and day of the roll-up."""
    parts = "js_us + hidden_us + engine_us + idle_us + unobserved_us + profiler_us"
    for table in ("pageview", "cell", "pageday"):
        assert rows(f"SELECT js_us FROM aggregate_{table} WHERE {parts} <> span_us") == [], table


@bounded(40)
@given(traffic(), plans)
def test_order_batches_and_reposts_change_nothing(envelopes: list[Json], plan: dict[str, Any]) -> None:
    with fresh_project() as project:
        arrive(envelopes, plan)
        assert_stored(project.pk, [enter(envelope) for envelope in envelopes])
        assert_rollup_is_exact()
        assert_parts_sum()
        states = rows("SELECT state, count(*) FROM ingest_tracereceipt GROUP BY 1")
        assert states == [(1, len(envelopes))]


# Most recordings of such gaps can be cut somewhere.
STEADY_US = (10_000, 10_000, 10_000, 10_000, 10_000, 0, 153_000)


def cuts_of(recording: Json) -> list[int]:
    """Returns where a recording can be cut without loss: between samples one interval apart, neither hidden.

    The last sample of a part weighs one interval, a hidden run needs its neighbours on both sides, and a script all its
    stacks.
    """
    marks = recording["marks"]
    whole = [m for m in marks if m["type"] == "longtask"] + [s for m in marks for s in m.get("scripts", ())]
    tasks = [(m["start"], m["start"] + m["duration"]) for m in whole]

    def is_plain(sample: Json) -> bool:
        in_task = any(start - 1 <= sample["timestamp"] <= end + 1 for start, end in tasks)
        return not in_task and (sample.get("marker") not in {"gc", "paint"} or "stackId" in sample)

    samples = recording["trace"]["samples"]
    in_order = all(a["timestamp"] <= b["timestamp"] for a, b in pairwise(samples))
    return [
        n + 1
        for n, (a, b) in enumerate(pairwise(samples))
        if in_order and round((b["timestamp"] - a["timestamp"]) * 1000) == 10_000 and is_plain(a) and is_plain(b)
    ]


@bounded(40)
@given(
    st.data(),
    casts(1),
    recordings(gaps_us=STEADY_US, min_samples=9, max_samples=14, most_tasks=1, most_scripts=0),
    plans,
)
def test_a_recording_cut_into_traces_gives_the_same_sums(
    data: st.DataObject, cast: list[Any], recording: Json, plan: dict[str, Any]
) -> None:
    whole = recording | {"sampleInterval": 10}
    cuts = cuts_of(whole)
    assume(cuts)
    chosen = sorted(data.draw(st.sets(st.sampled_from(cuts), min_size=1)))
    parts: list[Json] = []
    samples = whole["trace"]["samples"]
    for start, end in pairwise([0, *chosen, len(samples)]):
        # One page: a view that changes it is another view there.
        trace = whole["trace"] | {"samples": samples[start:end]}
        parts.append(envelope_of(cast[0], 0, whole | {"trace": trace}) | {"seq": len(parts)})
    with fresh_project() as project:
        arrive(parts, plan)
        uncut = [enter(envelope_of(cast[0], 0, whole))]
        # All but the number of traces, the third of a cell and the first of a view.
        in_cells = {place: (*sums[:2], *sums[3:]) for place, sums in read_cells(project.pk).items()}
        assert in_cells == {place: (*sums[:2], *sums[3:]) for place, sums in cells_of(uncut).items()}
        assert read_hotspots(project.pk) == hotspots_of(uncut)
        assert read_trees(project.pk) == trees_of(uncut)
        in_views = {key: sums[1:] for key, sums in read_views(project.pk).items()}
        assert in_views == {key: sums[1:] for key, sums in views_of(uncut).items()}


@bounded(25)
@given(traffic())
def test_a_contribution_replaced_and_taken_back_leaves_the_same_rows(envelopes: list[Json]) -> None:
    with fresh_project() as project:
        post("shop", *envelopes[:-1]) if len(envelopes) > 1 else None
        fold_all()
        before = read_cells(project.pk), read_hotspots(project.pk)
        old = load_views(project.pk, _keys(project.pk))
        post("shop", envelopes[-1])
        fold_all()
        new = load_views(project.pk, _keys(project.pk))
        grown = [key for key in new if key not in old or old[key] != new[key]]
        assert len(grown) == 1
        for views, is_back in ((new, True), (old, False)):  # the new one leaves, the old one comes back
            if grown[0] in views:
                view = views[grown[0]]
                delta = negate(delta_of(view)) if is_back else delta_of(view)
                add_to_cells(project.pk, [(view.cell_id, delta)])
                add_to_hotspots(project.pk, [(view.cell_id, delta)])
        hotspots = {key: sums for key, sums in read_hotspots(project.pk).items() if any(sums)}
        assert (read_cells(project.pk), hotspots) == before
        assert_rollup_is_exact()


def _keys(project_id: int) -> list[tuple[UUID, int]]:
    return [(view, group) for view, group in rows("SELECT view_id, group_id FROM aggregate_pageview ORDER BY 1, 2")]


def grow_old(age: str) -> None:
    if age != "young":
        roll_up_hours(NOW)
    if age == "merged":
        merge_old_hours(NOW)
        roll_up_hours(NOW)


@bounded(20)
@given(traffic(), plans, st.sampled_from(("young", "rolled", "merged")))
def test_a_refold_gives_identical_rows(envelopes: list[Json], plan: dict[str, Any], age: str) -> None:
    with fresh_project() as project:
        arrive(envelopes, plan)
        grow_old(age)
        before = dump_rows()
        run = start_run(Scope(project.pk))
        cells = list_cells(run)
        for cell in cells:
            assert reset_cell(run, *cell) is CellOutcome.RESET
        assert rows("SELECT count(*) FROM aggregate_pageview") == [(0,)]
        with override_settings(FOLD_BATCH_TRACES=6 - plan["batch"]):
            fold_all()
        finish_run(run)
        if age != "young":
            roll_up_hours(NOW)  # what was set back was unrolled
        assert dump_rows() == before


@bounded(25)
@given(st.data(), traffic(), st.sampled_from(("young", "rolled", "merged")))
def test_an_erasure_takes_exactly_one_views_sums(data: st.DataObject, envelopes: list[Json], age: str) -> None:
    view = data.draw(st.sampled_from(sorted({envelope["viewId"] for envelope in envelopes})))
    with fresh_project() as project:
        post("shop", *envelopes)
        fold_all()
        grow_old(age)
        erasure = erase_view(project.pk, UUID(view))
        assert (erasure.kept_sums, erasure.kept_trees) == (0, 0)
        assert_stored(project.pk, [enter(envelope) for envelope in envelopes if envelope["viewId"] != view])
        assert_rollup_is_exact()
        assert rows("SELECT count(*) FROM ingest_tracereceipt WHERE view_id = %s::uuid", view) == [(0,)]
        empty = "HAVING sum(total_samples) = 0 AND sum(hidden_total_us) = 0"
        assert rows(f"SELECT func_id FROM aggregate_hotspot GROUP BY cell_id, func_id {empty}") == []
