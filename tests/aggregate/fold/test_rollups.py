"""The overview by release, page and day equals the sums of cells, whatever became of them, from roll-up and cells."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.core.management import call_command
from django.db import OperationalError, connection

from aggregate.fold.rollups import roll_up_hours
from aggregate.maintenance.erasing import erase_view
from aggregate.maintenance.merging import merge_old_hours
from aggregate.selectors.functions.table import select_functions
from aggregate.selectors.project.overview import Overview, select_overview
from aggregate.selectors.slice.slices import Slice
from ingest.models import Group
from profcore.times import start_of_day, start_of_hour
from profcore.trace.dimensions import DEVICE_CLASSES, DIMENSIONS, NAVIGATION
from profcore.trace.weights import TIME_PART_NAMES
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.old_views import NOW, OLD, old_views
from tests.aggregate.posting import fold_all, post, rows
from tests.aggregate.stored_state import SUMS, assert_rollup_is_exact
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db

CELL_COLUMN = {
    "release": "g.release",
    "page": "g.page",
    "day": "(date_trunc('day', c.starts_at, 'UTC') AT TIME ZONE 'UTC')::date",
}
COMBINATIONS = [("release",), ("page",), ("day",), ("day", "release"), ("page", "day"), ("release", "page", "day")]
EVERY_DEVICE = tuple(("device", value) for value in DEVICE_CLASSES)


@pytest.fixture
def project_id() -> int:
    project, _ = create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", *old_views(), make_envelope("new", "A", release="2.0.0"), make_envelope("newer", "B", page="/q"))
    fold_all()
    return project.pk


def rows_of(overview: Overview, by: Sequence[str]) -> list[tuple[Any, ...]]:
    """Returns the rows as plain values, in order of what they are by."""
    table = []
    for row in [overview.whole, *overview.rows]:
        sums = (row.views, row.truncated_views, row.traces, *(getattr(row.time, name) for name in TIME_PART_NAMES))
        table.append((*(getattr(row, name) for name in by), *sums))
    return [table[0][len(by) :], *sorted(table[1:])]


def assert_equal_to_cells(project_id: int) -> None:
    assert_rollup_is_exact()
    sums = ", ".join(f"sum(c.{name})::bigint" for name in SUMS)
    tables = "FROM aggregate_cell c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id"
    for by in COMBINATIONS:
        columns = ", ".join(CELL_COLUMN[name] for name in by)
        expected = rows(
            f"""SELECT {columns}, {sums} {tables} WHERE c.project_id = %s GROUP BY {columns}
                HAVING sum(c.traces) > 0 ORDER BY {columns}""",
            project_id,
        )
        whole = rows(f"SELECT {sums} {tables} WHERE c.project_id = %s", project_id)
        rolled = select_overview(Slice(project_id=project_id), by, limit=100)
        from_cells = select_overview(Slice(project_id=project_id, dimensions=EVERY_DEVICE), by, limit=100)
        assert (rolled.source, from_cells.source) == ("rollup", "cells")
        assert rows_of(rolled, by) == rows_of(from_cells, by) == whole + expected
        assert rolled.row_count == len(rolled.rows) > 1


def test_after_folds_merges_a_refold_and_an_erasure(project_id: int) -> None:
    assert_equal_to_cells(project_id)
    merge_old_hours(NOW)
    assert_equal_to_cells(project_id)
    call_command("refold", "--project", "shop")
    assert_equal_to_cells(project_id)
    erase_view(project_id, UUID(view_id_of("v3")))
    assert_equal_to_cells(project_id)


def test_a_range_of_days_and_some_pages(project_id: int) -> None:
    midnight = start_of_day(OLD)
    day = (midnight, midnight + timedelta(days=1))
    overview = select_overview(Slice(project_id=project_id, pages=("/p0", "/q"), ranges=(day,)), ["page"], limit=100)
    assert [(row.page, row.views) for row in overview.rows] == [("/p0", 6)]
    assert overview.source == "rollup"
    two = select_overview(Slice(project_id=project_id, ranges=(day, (day[1], None))), ["day"], limit=100)
    assert two.whole == select_overview(Slice(project_id=project_id), ["day"], limit=100).whole
    overview = select_overview(Slice(project_id=project_id, releases=("2.0.0",)), ["release"], limit=100)
    assert [row.release for row in overview.rows] == ["2.0.0"]
    create_project(slug="other", key="other-key", origins=["*"])
    empty = select_overview(Slice(project_id=Project.objects.get(slug="other").pk), ["day"], limit=100)
    assert (empty.row_count, empty.rows, empty.whole.views) == (0, [], 0)


def test_an_hour_a_device_a_browser_and_a_navigation_are_answered_from_cells(project_id: int) -> None:
    hour = start_of_hour(OLD)
    overview = select_overview(
        Slice(project_id=project_id, ranges=((hour, hour + timedelta(hours=1)),)), ["page"], limit=100
    )
    assert (overview.source, overview.whole.views) == ("cells", 3)  # v0, v5 and v10 of twelve
    everything = Slice(project_id=project_id)
    whole = select_overview(everything, ["page"], limit=9).whole
    for dimension in DIMENSIONS:
        slices = [everything.with_values(dimension.name, value) for value in dimension.values]
        parts = [select_overview(slice_, ["page"], limit=9) for slice_ in slices]
        assert dimension is not NAVIGATION or sum(part.whole.views > 0 for part in parts) == 2
        assert {part.source for part in parts} == {"cells"}
        assert sum(part.whole.views for part in parts) == whole.views
        assert sum(part.whole.time.js_us for part in parts) == whole.time.js_us


def test_the_order_is_that_of_the_dimensions_asked_for() -> None:
    project, _ = create_project(slug="shop", key="shop-key", origins=["*"])
    days = [datetime.now(UTC) - timedelta(days=n) for n in (1, 3)]
    for release in ("b-first", "a-second"):
        for day in days:
            start = day.timestamp() * 1000
            post(
                "shop-key",
                make_envelope(f"{release}{day}", "A", release=release, viewStart=start, page="/light"),
                make_envelope(f"{release}{day}!", "A\nA\nA", release=release, viewStart=start, page="/heavy"),
            )
    fold_all()
    Group.objects.filter(release="b-first").update(first_seen_at=days[1])  # in a test all is of one moment

    def ask(*by: str) -> list[tuple[Any, ...]]:
        groups = select_overview(Slice(project_id=project.pk), by, limit=100).rows
        return [tuple(getattr(row, name) for name in by) for row in groups]

    newer, older = (day.date() for day in days)
    assert ask("release", "day") == [("a-second", older), ("a-second", newer), ("b-first", older), ("b-first", newer)]
    assert ask("day", "page") == [(older, "/heavy"), (older, "/light"), (newer, "/heavy"), (newer, "/light")]
    assert ask("page", "release")[:2] == [("/heavy", "a-second"), ("/heavy", "b-first")]
    cut = select_overview(Slice(project_id=project.pk), ["page", "day"], limit=3)
    assert (cut.row_count, len(cut.rows), cut.whole.views) == (4, 3, 8)
    assert [row.page for row in cut.rows] == ["/heavy", "/heavy", "/light"]


def test_truncated_views_are_counted_once_each(project_id: int) -> None:
    post("shop-key", make_envelope("t", "A", reason="pagehide", page="/t"))
    fold_all()
    post("shop-key", make_envelope("t", "A", seq=1, reason="pagehide", page="/t"), make_envelope("u", "A", page="/t"))
    fold_all()
    groups = select_overview(Slice(project_id=project_id), ["page"], limit=100).rows
    assert ("/t", 2, 1) in [(row.page, row.views, row.truncated_views) for row in groups]
    assert_equal_to_cells(project_id)


def assert_functions_are_the_same(project_id: int, **fields: Any) -> None:
    """Naming every device reads cell by cell; with none, what is rolled is read from the roll-up."""
    rolled = select_functions(Slice(project_id=project_id, **fields), limit=100)
    assert rolled == select_functions(Slice(project_id=project_id, dimensions=EVERY_DEVICE, **fields), limit=100)
    assert rolled.functions


def test_functions_from_the_roll_up_and_from_cells_are_the_same(project_id: int) -> None:
    both = partial(assert_functions_are_the_same, project_id)
    midnight = start_of_day(OLD)
    slices: list[dict[str, Any]] = [
        {},
        {"pages": ("/p0",)},
        {"releases": ("1.0.0",), "pages": ("/p1", "/q")},
        {"ranges": ((midnight, midnight + timedelta(days=1)),)},
        {"ranges": ((midnight, midnight + timedelta(days=1)), (midnight + timedelta(days=2), None))},
    ]
    for fields in slices:
        both(**fields)
    merge_old_hours(NOW)
    roll_up_hours(NOW)
    assert rows("SELECT count(*) > 0 FROM aggregate_dayhotspot") == [(True,)]
    for fields in slices:
        both(**fields)
    late = make_envelope("v1", "E\nE A", seq=1, page="/p1"), make_envelope("v30", "Z", page="/p0")
    for envelope in late:  # late traces: of a view of a merged hour, and a new one in its day
        post("shop-key", {**envelope, "viewStart": OLD.timestamp() * 1000})
        fold_all()
        assert_rollup_is_exact()
        for fields in slices:
            both(**fields)
    erase_view(project_id, UUID(view_id_of("v2")))
    assert_rollup_is_exact()
    for fields in slices:
        both(**fields)


def test_hours_that_are_over_are_read_from_the_roll_up(project_id: int) -> None:
    both = partial(assert_functions_are_the_same, project_id)
    hour, midnight = (
        start_of_hour(OLD),
        start_of_day(OLD),
    )
    day = timedelta(days=1)
    slices: list[dict[str, Any]] = [
        {},
        {"pages": ("/p0",)},
        {"ranges": ((midnight, midnight + day),)},
        {"ranges": ((hour, None),)},  # half a day: cells must tell
        {"ranges": ((hour, midnight + day), (midnight + day, None))},
        {"ranges": ((None, hour + timedelta(hours=2)),)},
    ]

    def check() -> None:
        assert_rollup_is_exact()
        for fields in slices:
            both(**fields)

    post("shop-key", make_envelope("young", "A", page="/p0", viewStart=NOW.timestamp() * 1000))
    fold_all()
    assert roll_up_hours(NOW) == 4  # group-days
    assert rows("SELECT count(*) FROM aggregate_cell WHERE NOT is_rolled") == [(1,)]  # the hour that goes on
    assert roll_up_hours(NOW) == 0
    check()
    post("shop-key", make_envelope("v1", "E\nE A", seq=1, page="/p1", viewStart=OLD.timestamp() * 1000))
    post("shop-key", make_envelope("v31", "Z", page="/p0", viewStart=OLD.timestamp() * 1000))
    fold_all()
    check()
    erase_view(project_id, UUID(view_id_of("v31")))
    check()
    call_command("refold", "--project", "shop")
    fold_all()
    check()
    merge_old_hours(NOW)
    check()


def test_an_hour_is_rolled_up_once_it_is_old_enough(project_id: int) -> None:
    waiting = "SELECT count(*) FROM aggregate_cell WHERE NOT is_rolled"
    for page in ("/p0", "/p1"):
        post("shop-key", make_envelope(f"young{page}", "A", page=page, viewStart=NOW.timestamp() * 1000))
    fold_all()
    roll_up_hours(NOW)
    assert roll_up_hours(NOW + timedelta(hours=1)) == 0
    assert rows(waiting) == [(2,)]
    assert roll_up_hours(NOW + timedelta(hours=2)) == 2
    assert rows(waiting) == [(0,)]
    assert_rollup_is_exact()


def test_days_that_follow_each_other_keep_their_own(project_id: int) -> None:
    for number in range(3):
        start = OLD.replace(hour=23) - timedelta(hours=number * 12)
        post("shop-key", make_envelope(f"n{number}", "A B\nC", page="/p0", viewStart=start.timestamp() * 1000))
    fold_all()
    roll_up_hours(NOW)
    assert len(rows("SELECT DISTINCT day_at FROM aggregate_daytreepiece")) > 1
    assert_rollup_is_exact()


def test_what_is_taken_back_unrolls_its_day_until_it_is_rolled_again(project_id: int) -> None:
    rolled = "SELECT count(*) FROM aggregate_cell WHERE is_rolled"
    roll_up_hours(NOW)
    before = rows(rolled)
    erase_view(project_id, UUID(view_id_of("v2")))
    assert rows(rolled) < before
    assert_rollup_is_exact()
    assert roll_up_hours(NOW) == 1
    assert rows(rolled) == before
    assert_rollup_is_exact()


def test_a_merge_of_rolled_hours_leaves_their_day_in_the_roll_up(project_id: int) -> None:
    roll_up_hours(NOW)
    before = rows("SELECT * FROM aggregate_dayhotspot ORDER BY 1, 2, 3, 4")
    merge_old_hours(NOW)
    assert rows("SELECT * FROM aggregate_dayhotspot ORDER BY 1, 2, 3, 4") == before
    assert_rollup_is_exact()


def test_a_damaged_tree_holds_back_no_other_day(project_id: int, caplog: pytest.LogCaptureFixture) -> None:
    days = len(rows("SELECT DISTINCT group_id, date_trunc('day', starts_at, 'UTC') FROM aggregate_cell"))
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE aggregate_calltreepiece SET blob = 'FFt'
               WHERE (cell_id, id) = (SELECT min(cell_id), 1 FROM aggregate_calltreepiece)"""
        )
    assert roll_up_hours(NOW + timedelta(hours=3)) == days - 1
    assert "is damaged; its day is not rolled up" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_roll_up_waits_for_its_groups_lock(project_id: int) -> None:
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}) as other:
        other.execute("SELECT pg_advisory_xact_lock(project_id::int, id) FROM ingest_group")
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '300ms'")
        try:
            with pytest.raises(OperationalError, match="lock timeout"):
                roll_up_hours(NOW)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("RESET lock_timeout")
