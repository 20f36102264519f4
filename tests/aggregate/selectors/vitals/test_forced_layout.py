"""Forced layout over views: exact sums over all of them, with intervals, and where each number comes from."""

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import DjangoDbBlocker

from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.vitals.forced_layout import ForcedTable
from aggregate.selectors.vitals.table import VitalsQuery, select_vitals
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.envelopes import make_envelope
from tests.runner.keeping import keep

pytestmark = pytest.mark.django_db
VIEWS = 30
APP = "https://shop.example/app.js"


def forcing(view: str, columns: str, forced_ms: float, **fields: Any) -> dict[str, Any]:  # Any: JSON
    script = {"start": 0, "duration": 40, "forced": forced_ms, "url": APP}
    frame = {"type": "long-animation-frame", "start": 0, "duration": 60, "scripts": [script]}
    return make_envelope(view, columns, marks=[frame], **fields)


def marked(view: str) -> dict[str, Any]:
    envelope = forcing(view, "A\nA B\nA B\nA", 30)
    for sample, marker in zip(envelope["trace"]["samples"], ["script", "layout", "script", "style"], strict=True):
        sample["marker"] = marker
    return envelope


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Project]:
    yield from keep(django_db_blocker, make_shop)


@pytest.fixture
def project(kept: Project, db: None) -> Project:
    return kept


def make_shop() -> Project:
    """Ten views force 20 ms in a script that ran A for 10 ms and B for 30 ms, ten force nothing, ten have markers."""
    project = make_project("shop")
    for number in range(10):
        post("KEY-shop", forcing(f"attributed {number}", "A\nA B\nA B\nA B", 20))
        post("KEY-shop", make_envelope(f"calm {number}", "A\nA B\nC"))
        post("KEY-shop", marked(f"marked {number}"))
    fold_all()
    return project


def read(project: Project, group_by: str = "function") -> ForcedTable:
    return select_vitals(Slice(project_id=project.pk), VitalsQuery(group_by=group_by)).forced_layout


def test_the_mean_is_over_all_views_with_an_interval(project: Project) -> None:
    table = read(project)
    assert (table.views, table.measured_views, table.forced_views) == (VIEWS, 10, 20)
    assert (table.total_us, table.unattributed_us) == (10 * 20_000 + 10 * 20_000, 0)
    assert table.total is not None
    assert table.total.ms_per_view.value == pytest.approx(table.per_view_ms(table.total_us)) == pytest.approx(400 / 30)
    assert table.total.ms_per_view.ci95 is not None
    assert table.total.ms_per_view.ci95.low < 400 / 30 < table.total.ms_per_view.ci95.high


def test_functions_have_what_they_forced_and_how_it_is_known(project: Project) -> None:
    table = read(project)
    rows = {row.row.name: row for row in table.rows}
    assert list(rows) == ["B", "A"]
    assert (rows["B"].row.self_us, rows["A"].row.self_us) == (10 * 15_000 + 10 * 10_000, 10 * 5_000 + 10 * 10_000)
    assert (rows["B"].row.total_us, rows["A"].row.total_us) == (250_000, 400_000)
    assert (rows["B"].measured_us, rows["B"].source) == (100_000, "both")
    assert rows["B"].own_us == 10 * (30_000 + 10_000 + 20_000)
    assert rows["B"].own_share == pytest.approx(250 / 600)
    summary = rows["B"].summary
    assert summary is not None
    assert summary.ms_per_view.value == pytest.approx(250 / 30)
    assert summary.ran.value == pytest.approx(20 / 30)


def test_groups_have_their_functions_together(project: Project) -> None:
    (row,) = read(project, "category").rows
    assert (row.row.self_us, row.row.total_us) == (400_000, 0)
    assert row.own_us == 10 * 40_000 + 10 * 30_000 + 10 * 40_000  # with C, which forced nothing


def test_what_no_function_was_seen_for_is_unattributed(project: Project) -> None:
    post("KEY-shop", forcing("unseen", "-\n-\n-\n-\nA", 7))
    fold_all()
    table = read(project)
    assert (table.views, table.total_us, table.unattributed_us) == (VIEWS + 1, 407_000, 7_000)
    assert sum(row.row.self_us for row in table.rows) + table.unattributed_us == table.total_us
    assert table.unattributed is not None


def test_too_few_views_have_no_intervals_and_none_no_rows() -> None:
    project = make_project("few")
    assert (read(project).views, read(project).rows) == (0, [])
    post("KEY-few", forcing("one", "A\nA\nA\nA", 20))
    fold_all()
    table = read(project)
    assert (table.total_us, table.total, [row.summary for row in table.rows]) == (20_000, None, [None])
