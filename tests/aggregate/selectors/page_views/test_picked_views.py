"""Views picked by their time, from all views of a slice or from an even sample of very many."""

import pytest
from pytest_django import Settings

from aggregate.selectors.page_views import picked_views
from aggregate.selectors.page_views.contributions import select_slice_views
from aggregate.selectors.page_views.fine_sums import SeenViews
from aggregate.selectors.page_views.picked_views import VIEW_ORDERS, ViewTable, pick_views, select_views
from aggregate.selectors.slice.slices import Slice
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.posting import fold_all, post, rows
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db
TIMES = (3, 1, 4, 1, 5, 9, 2, 6)  # samples of each view; two views have the same time


@pytest.fixture
def shop() -> Project:
    project, _ = create_project(slug="shop", key="KEY", origins=["*"])
    post("KEY", *(make_envelope(f"v{n}", "A B\n" * took, page="/cart") for n, took in enumerate(TIMES)))
    post("KEY", make_envelope("other", "C\n" * 7, page="/list"))
    fold_all()
    return project


def func_id(name: str) -> int:
    ((row_id,),) = rows("SELECT id FROM aggregate_func WHERE name = %s", name)
    return int(row_id)


def rows_of(table: ViewTable) -> list[tuple[object, ...]]:
    return [(row.view.view_id, row.self_us, row.hidden_us, len(row.traces)) for row in table.views]


@pytest.mark.parametrize("order", VIEW_ORDERS)
def test_the_database_ranks_by_script_time_as_a_reading_of_all_views_does(shop: Project, order: str) -> None:
    slice_ = Slice(project_id=shop.pk, pages=("/cart",))
    table = select_views(slice_, func_id=None, order=order, limit=5)  # type: ignore[arg-type]  # one of VIEW_ORDERS
    seen = SeenViews("contributions", select_slice_views(slice_))
    (read,) = pick_views(slice_, seen, None, (order,), 5)  # type: ignore[arg-type]  # as above
    assert rows_of(table) == rows_of(read)
    assert (table.view_count, table.looked_at, table.population) == (8, 8, 8)
    assert (table.median_us, table.truncated_count) == (read.median_us, read.truncated_count)


def test_no_contribution_is_read_for_script_time(
    shop: Project, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are most of a view: twenty thousand of them took a web process to 900 MB."""
    settings.READ_MAX_VIEWS = 2
    monkeypatch.setattr(picked_views, "select_seen_views", refuse)
    monkeypatch.setattr(picked_views, "sample_slice_views", refuse)
    table = select_views(Slice(project_id=shop.pk), func_id=None, order="worst", limit=2)
    assert [row.self_us for row in table.views] == [90_000, 70_000]


def refuse(*_args: object, **_options: object) -> None:
    raise AssertionError


def test_of_very_many_views_an_even_sample_is_ranked(shop: Project, settings: Settings) -> None:
    settings.VIEW_LIST_MAX_VIEWS, settings.VIEW_LIST_SAMPLE = 8, 4
    table = select_views(Slice(project_id=shop.pk), func_id=None, order="worst", limit=2)
    assert (table.view_count, table.looked_at, table.population) == (4, 4, 9)
    random = select_views(Slice(project_id=shop.pk), func_id=None, order="random", limit=4)
    sample = sorted((row.self_us for row in random.views), reverse=True)
    assert [row.self_us for row in table.views] == sample[:2]
    assert table.median_us == (sample[1] + sample[2]) / 2
    settings.VIEW_LIST_MAX_VIEWS = 9
    whole = select_views(Slice(project_id=shop.pk), func_id=None, order="random", limit=4)
    assert rows_of(whole) == rows_of(random)


def test_a_function_is_looked_up_in_an_even_sample_of_the_cells_it_ran_in(shop: Project, settings: Settings) -> None:
    whole = select_views(Slice(project_id=shop.pk), func_id=func_id("B"), order="worst", limit=3)
    assert [row.self_us for row in whole.views] == [90_000, 60_000, 50_000]
    assert (whole.view_count, whole.looked_at, whole.population) == (8, 8, 8)  # not the one of /list
    post("KEY", *(make_envelope(f"m{n}", "A B", page="/cart") for n in range(40)))
    fold_all()
    settings.STATISTICS_MAX_VIEWS = settings.READ_MAX_VIEWS = 1
    some = select_views(Slice(project_id=shop.pk), func_id=func_id("B"), order="worst", limit=99)
    assert 0 < some.view_count == some.looked_at == len(some.views) < some.population == 48


def test_an_empty_slice_has_no_median(shop: Project) -> None:
    table = select_views(Slice(project_id=shop.pk, pages=("/none",)), func_id=None, order="typical", limit=3)
    assert (table.views, table.view_count, table.median_us) == ([], 0, None)
