"""Hours merged into days: no sum changes, and a late trace finds the day."""

from datetime import timedelta

import pytest

from aggregate.maintenance.merging import merge_old_hours
from projects.creation import create_project
from tests.aggregate.old_views import NOW, OLD, old_views
from tests.aggregate.posting import fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact, by_day, summed
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db


def test_a_merge_changes_no_sum(key: str) -> None:
    marked = make_envelope("marked", "A\n-", viewStart=OLD.timestamp() * 1000, page="/p0")
    marked["trace"]["samples"][0]["marker"] = "script"
    post(key, *old_views(), marked)
    fold_all()
    before = by_day()
    hours = rows("SELECT count(*) FROM aggregate_cell")[0][0]
    assert merge_old_hours(NOW) == 2
    assert by_day() == before
    assert_rollup_is_exact()
    live = rows("SELECT count(*), min(grain), max(grain) FROM aggregate_cell WHERE merged_into IS NULL")
    assert live[0][0] < hours
    assert live[0][1:] == (1, 1)
    assert rows("SELECT DISTINCT navigation FROM aggregate_cell WHERE merged_into IS NULL ORDER BY 1") == [(0,), (4,)]
    assert rows(
        "SELECT count(*) FROM aggregate_pageview v JOIN aggregate_cell c ON c.id = v.cell_id WHERE c.grain = 0"
    ) == [(0,)]
    assert merge_old_hours(NOW) == 0


def test_young_hours_are_left_alone(key: str) -> None:
    post(key, make_envelope("new", "A", viewStart=(NOW - timedelta(hours=40)).timestamp() * 1000))
    fold_all()
    assert merge_old_hours(NOW) == 0


def test_stragglers_find_the_day_and_the_order_changes_nothing(key: str) -> None:
    views = old_views()
    more = [make_envelope("v1", "E\nE A", seq=1, page="/p1"), make_envelope("v2", "B", seq=1, page="/p0")]
    # a new view of an hour that was merged
    more.append(make_envelope("fresh2", "A\nG", page="/p0", viewStart=views[0]["viewStart"], device=views[0]["device"]))
    late_start = (OLD + timedelta(hours=9)).timestamp() * 1000
    late = make_envelope("late", "A\nB", page="/p1", viewStart=late_start, device=views[1]["device"])
    post(key, *views)
    fold_all()
    merge_old_hours(NOW)
    post(key, *more, late)
    fold_all()
    assert merge_old_hours(NOW) == 1  # the late view's hour was new; its day's cell is not
    assert_rollup_is_exact()
    merged = by_day()

    create_project(slug="other", key="other-key", origins=["*"])
    post("other-key", *views, *more, late)
    fold_all()
    assert summed(by_day(), 2) == summed(merged, 1)


def test_pieces_of_many_hours_become_the_tree_of_one_day(key: str) -> None:
    post(key, *old_views(20))
    fold_all()
    merge_old_hours(NOW)
    per_cell = rows("SELECT cell_id, count(*) FROM aggregate_calltreepiece GROUP BY 1")
    assert per_cell
    assert all(count == 1 for _, count in per_cell)
