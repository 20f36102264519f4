"""A view whose cell has expired is in no sum: a late trace of it adds to none, and its erasure takes from none."""

from datetime import timedelta
from uuid import UUID

import pytest

from aggregate.maintenance.erasing import erase_view
from aggregate.maintenance.retention import expire_all
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.old_views import NOW
from tests.aggregate.posting import everything, fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db
OLD_MS = (NOW - timedelta(days=6)).timestamp() * 1000


@pytest.fixture
def project_id() -> int:
    """A project in which the cell of view `x` has expired, while its raw trace is kept."""
    project, _ = create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", make_envelope("x", "A\nA B", viewStart=OLD_MS))
    fold_all()
    Project.objects.update(keep_cells_days=5)
    assert expire_all(NOW).cells == 1
    return project.pk


@pytest.mark.parametrize("neighbours", [0, 1])
def test_its_erasure_takes_nothing_from_the_cell_that_was_made_again(project_id: int, neighbours: int) -> None:
    for n in range(neighbours):
        post("shop-key", make_envelope(f"late{n}", "A\nC", viewStart=OLD_MS))
        fold_all()
    before = everything()
    erasure = erase_view(project_id, UUID(view_id_of("x")))
    assert (erasure.traces, erasure.views, erasure.kept_sums, erasure.kept_trees) == (1, 0, 0, 0)
    assert everything() == before
    assert rows("SELECT min(views), min(js_us) FROM aggregate_cell HAVING min(views) < 0") == []
    assert_rollup_is_exact()


@pytest.mark.parametrize("neighbours", [0, 1])
def test_a_late_trace_of_it_is_rejected(project_id: int, neighbours: int) -> None:
    for n in range(neighbours):
        post("shop-key", make_envelope(f"late{n}", "A\nC", viewStart=OLD_MS))
        fold_all()
    before = everything()
    post("shop-key", make_envelope("x", "B", seq=1, viewStart=OLD_MS))
    fold_all()
    assert everything() == before
    post("shop-key", make_envelope("x", "B", seq=2, viewStart=OLD_MS), make_envelope("new", "B", viewStart=OLD_MS))
    fold_all()
    assert rows("SELECT seq, reason FROM ingest_tracereceipt WHERE state = 2 ORDER BY seq") == [
        (1, "view_expired"),
        (2, "view_expired"),
    ]
    assert rows("SELECT sum(views), sum(traces) FROM aggregate_cell") == [(neighbours + 1, neighbours + 1)]
