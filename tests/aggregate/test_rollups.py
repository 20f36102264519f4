"""The roll-up by release, page and day equals the sums of cells, whatever became of them."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.core.management import call_command

from aggregate.erasing import erase_view
from aggregate.merging import merge_old_hours
from aggregate.rollups import Dimension, select_rollup
from ingest.models import Project
from ingest.services import create_project
from profcore.weights import TIME_PART_NAMES
from tests.aggregate.aftermath import SUMS, assert_rollup_is_exact
from tests.aggregate.posting import fold_all, post, rows
from tests.aggregate.test_merging import NOW, OLD, old_views
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db

CELL_COLUMN: dict[Dimension, str] = {
    "release": "g.release",
    "page": "g.page",
    "day": "date_trunc('day', c.bucket_at, 'UTC')",
}


@pytest.fixture
def project_id() -> int:
    project, _ = create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", *old_views(), make_envelope("new", "A", release="2.0.0"), make_envelope("newer", "B", page="/q"))
    fold_all()
    return project.pk


def assert_equal_to_cells(project_id: int) -> None:
    assert_rollup_is_exact()
    for by, column in CELL_COLUMN.items():
        sums = ", ".join(f"sum(c.{name})" for name in SUMS)
        expected = rows(
            f"""SELECT {column}, {sums} FROM aggregate_cell c
                JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
                WHERE c.project_id = %s GROUP BY 1 HAVING sum(c.traces) > 0 ORDER BY 1""",
            project_id,
        )
        told = [
            (r.value, r.views, r.truncated_views, r.traces, *(getattr(r.parts, name) for name in TIME_PART_NAMES))
            for r in select_rollup(project_id, by)
        ]
        assert told == expected
        assert len(told) > 1


def test_after_folds_merges_a_refold_and_an_erasure(project_id: int) -> None:
    assert_equal_to_cells(project_id)
    merge_old_hours(NOW)
    assert_equal_to_cells(project_id)
    call_command("refold", "--project", "shop")
    assert_equal_to_cells(project_id)
    erase_view(project_id, UUID(view_id_of("v3")))
    assert_equal_to_cells(project_id)


def test_a_range_of_days_and_some_pages(project_id: int) -> None:
    midnight = OLD.replace(hour=0, minute=0, second=0, microsecond=0)
    told = select_rollup(project_id, "page", from_at=midnight, to_at=midnight + timedelta(days=1), pages=["/p0", "/q"])
    assert [(r.value, r.views) for r in told] == [("/p0", 6)]
    assert [r.value for r in select_rollup(project_id, "release", releases=["2.0.0"])] == ["2.0.0"]
    create_project(slug="other", key="other-key", origins=["*"])
    assert select_rollup(Project.objects.get(slug="other").pk, "day") == []


def test_truncated_views_are_counted_once_each(project_id: int) -> None:
    post("shop-key", make_envelope("t", "A", reason="pagehide", page="/t"))
    fold_all()
    post("shop-key", make_envelope("t", "A", seq=1, reason="pagehide", page="/t"), make_envelope("u", "A", page="/t"))
    fold_all()
    told = [(r.value, r.views, r.truncated_views) for r in select_rollup(project_id, "page")]
    assert ("/t", 2, 1) in told
    assert_equal_to_cells(project_id)
