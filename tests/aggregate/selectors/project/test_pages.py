"""Pages, releases, and how a project stands."""

from datetime import UTC, datetime, timedelta

import pytest

from aggregate.selectors.project.pages import select_page_views, select_pages, select_releases
from aggregate.selectors.project.summaries import select_project_summaries, select_status
from aggregate.selectors.slice.slices import Slice
from ingest.count_models import Refusal
from ingest.models import Receipt
from tests.builders import MONDAY, make_cell, make_group, make_project, make_receipt

pytestmark = pytest.mark.django_db


def test_pages_come_with_the_most_js_time_first_and_its_mean_per_view() -> None:
    project = make_project()
    make_cell(project, page="/light", views=1, js_us=9_000)
    make_cell(project, page="/heavy", release="1", views=3, js_us=10_000)
    make_cell(project, page="/heavy", release="2", views=1, js_us=2_001, idle_us=5)
    rows = select_pages(Slice(project_id=project.pk))
    assert [(row.page, row.views, row.js_ms_per_view) for row in rows] == [("/heavy", 4, 12.001 / 4), ("/light", 1, 9)]
    assert rows[0].time.idle_us == 5
    assert select_page_views(project.pk, most=9) == [("/heavy", 4), ("/light", 1)]
    assert select_page_views(project.pk, most=1) == [("/heavy", 4)]


def test_pages_keep_to_the_slice_and_the_project() -> None:
    project = make_project()
    make_cell(project, page="/a", release="1")
    make_cell(project, page="/b", release="2")
    make_cell(make_project("other"), page="/c", release="1")
    assert [row.page for row in select_pages(Slice(project_id=project.pk, releases=("1",)))] == ["/a"]


def test_a_page_of_which_nothing_is_folded_yet_is_not_listed() -> None:
    project = make_project()
    make_cell(project, views=0, traces=0)  # interned by a fold that did not come to its end
    assert select_pages(Slice(project_id=project.pk)) == []


def test_releases_come_newest_first_with_their_views() -> None:
    project = make_project()
    make_group(project, "1.0", "/a", first_seen_at=MONDAY)
    make_group(project, "1.0", "/b", first_seen_at=MONDAY - timedelta(days=2))
    make_group(project, "1.1", "/a", first_seen_at=MONDAY + timedelta(days=1))
    make_cell(project, release="1.0", page="/a", views=3)
    make_cell(project, release="1.0", page="/b", views=4)
    day = make_cell(project, release="1.1", page="/a", views=5)
    make_cell(project, release="1.1", page="/a", views=5, browser="edge", merged_into=day.id)
    make_group(project, "1.2", "/a", first_seen_at=MONDAY + timedelta(days=3))
    rows = select_releases(project.pk)
    assert [(row.release, row.views) for row in rows] == [("1.2", 0), ("1.1", 5), ("1.0", 7)]
    assert rows[-1].first_seen_at == MONDAY - timedelta(days=2)
    assert [row.release for row in select_releases(project.pk, page="/b")] == ["1.0"]


def test_received_is_pending_and_folded_and_rejected_and_refusals_are_apart() -> None:
    project = make_project()
    make_receipt(make_project("other"), state=Receipt.State.PENDING)
    for state, count in ((Receipt.State.PENDING, 3), (Receipt.State.FOLDED, 2), (Receipt.State.REJECTED, 1)):
        for number in range(count):
            make_receipt(project, state=state, age=timedelta(seconds=10 * (number + 1)))
    now = datetime.now(UTC)
    for shard, count in enumerate((4, 5)):
        Refusal.objects.create(project=project, hour_at=now, reason="too_large", shard=shard, count=count)
    status = select_status(project.pk)
    assert (status.received, status.pending, status.folded, status.rejected) == (6, 3, 2, 1)
    assert status.refused == 9
    assert status.oldest_pending_s == pytest.approx(30, abs=5)
    assert status.last_received_at is not None
    assert abs(status.last_received_at - (now - timedelta(seconds=10))) < timedelta(seconds=5)


def test_nothing_pending_has_no_age() -> None:
    project = make_project()
    assert select_status(project.pk).oldest_pending_s is None
    make_receipt(project, state=Receipt.State.FOLDED)
    assert select_status(project.pk).oldest_pending_s is None


def test_projects_are_summed_up_each_on_its_own() -> None:
    busy, quiet = make_project("busy"), make_project("quiet")
    make_cell(busy, page="/a", views=2)
    make_cell(busy, page="/a", release="2", views=3, starts_at=MONDAY + timedelta(hours=1))
    make_cell(busy, page="/b", views=4)
    make_receipt(busy, state=Receipt.State.PENDING)
    make_receipt(busy, state=Receipt.State.FOLDED)
    rows = select_project_summaries([busy.pk, quiet.pk])
    first, second = rows[busy.pk], rows[quiet.pk]
    assert (first.views, first.pages, first.pending, first.last_bucket_at) == (9, 2, 1, MONDAY + timedelta(hours=1))
    assert (second.views, second.pages, second.pending, second.last_bucket_at) == (0, 0, 0, None)
