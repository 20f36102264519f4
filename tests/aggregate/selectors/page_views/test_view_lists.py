"""Lists of a slice's views: their orders, ranges and pages, by what they took; complete, or of a uniform sample."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from pytest_django import Settings

from aggregate.models import PageView
from aggregate.selectors.page_views.view_facts import select_listed, select_view
from aggregate.selectors.page_views.view_lists import LIST_ORDERS, ListOrder, ListQuery, select_view_page
from aggregate.selectors.slice.slices import Slice, SliceQuery, resolve_slice
from ingest.models import RawTrace, Receipt
from profcore.stats.sampling import sample_key
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.envelopes import TIME_ORIGIN_MS, make_envelope, view_id_of

pytestmark = pytest.mark.django_db
COUNT = 9


@pytest.fixture
def site() -> Project:
    """Nine views of /a: view n has n+1 samples of JS of 10 ms, begins n hours before the first, and ran B if n is even.

    And one view of another project that took more than all of them.
    """
    project = make_project("site")
    for n in range(COUNT):
        stack = "A B" if n % 2 == 0 else "A"
        start = TIME_ORIGIN_MS - n * 3_600_000
        post("KEY-site", make_envelope(f"v{n}", "\n".join([stack] * (n + 1)), page="/a", timeOrigin=start))
    make_project("other")
    post("KEY-other", make_envelope("foreign", "\n".join(["A"] * 50), page="/a"))
    fold_all()
    return project


def names(project: Project, query: ListQuery, **fields: Sequence[str]) -> list[str]:
    """Returns the names of the views of a page of a list."""
    word_of = {UUID(view_id_of(f"v{n}")): f"v{n}" for n in range(COUNT)}
    page = select_view_page(resolve_slice(project.pk, SliceQuery(**fields)), query)
    return [word_of[key[0]] for key, _ in page.keys]


def func_of(project: Project, name: str) -> int:
    from aggregate.models import Func

    return Func.objects.get(project=project, name=name).id


def test_the_worst_come_first_and_pages_follow_each_other(site: Project) -> None:
    assert names(site, ListQuery(order="worst", limit=4)) == ["v8", "v7", "v6", "v5"]
    assert names(site, ListQuery(order="worst", limit=4, offset=4)) == ["v4", "v3", "v2", "v1"]
    assert names(site, ListQuery(order="worst", limit=4, offset=8)) == ["v0"]
    assert names(site, ListQuery(order="worst", limit=4, offset=12)) == []


def test_the_typical_are_nearest_the_median(site: Project) -> None:
    order = names(site, ListQuery(order="typical"))
    assert order[0] == "v4"
    assert set(order[1:3]) == {"v3", "v5"}
    assert set(order[7:]) == {"v0", "v8"}


def test_the_newest_began_last(site: Project) -> None:
    assert names(site, ListQuery(order="newest")) == [f"v{n}" for n in range(COUNT)]
    assert names(site, ListQuery(order="newest", limit=2, offset=3)) == ["v3", "v4"]
    assert names(site, ListQuery(order="newest", low_us=50_000, limit=2)) == ["v4", "v5"]


def test_views_of_one_hour_are_told_apart_by_their_start(site: Project) -> None:
    for n, minutes in enumerate((3, 1, 2)):
        start = TIME_ORIGIN_MS - 40 * 3_600_000 + minutes * 60_000
        post("KEY-site", make_envelope(f"v{n}", "A", seq=1, page="/b", timeOrigin=start))
    fold_all()
    assert names(site, ListQuery(order="newest"), page=["/b"]) == ["v0", "v2", "v1"]


def test_a_random_order_is_that_of_hashes_and_always_the_same(site: Project) -> None:
    by_hash = sorted(range(COUNT), key=lambda n: sample_key(UUID(view_id_of(f"v{n}"))))
    assert names(site, ListQuery(order="random")) == [f"v{n}" for n in by_hash]
    assert names(site, ListQuery(order="random", limit=3, offset=2)) == [f"v{n}" for n in by_hash[2:5]]


@pytest.mark.parametrize("order", LIST_ORDERS)
def test_a_range_keeps_those_that_took_so_much(site: Project, order: ListOrder) -> None:
    query = ListQuery(order=order, low_us=30_000, high_us=60_000)
    assert set(names(site, query)) == {"v2", "v3", "v4"}
    assert select_view_page(Slice(project_id=site.pk), query).view_count == 3
    assert set(names(site, ListQuery(order=order, high_us=30_000))) == {"v0", "v1"}


@pytest.mark.parametrize("order", LIST_ORDERS)
@pytest.mark.parametrize("func", [False, True])
def test_a_finer_slice_is_listed_by_the_same_rules(site: Project, order: ListOrder, func: bool) -> None:
    """`func_over` of all views is a fine slice of as many."""
    func_id = func_of(site, "A")
    query = ListQuery(order=order, by="self" if func else "js", func_id=func_id if func else None, limit=5, offset=2)
    fine = names(site, query, func_over=[f"{func_id}:0"])
    assert len(fine) == 5
    assert fine == names(site, query)


def test_by_a_functions_time_only_views_that_ran_it_are_listed(site: Project) -> None:
    b = func_of(site, "B")
    query = ListQuery(by="self", order="worst", func_id=b)
    assert names(site, query) == ["v8", "v6", "v4", "v2", "v0"]
    page = select_view_page(Slice(project_id=site.pk), query)
    assert (page.view_count, page.distribution.looked_at) == (5, COUNT)
    assert page.distribution.values_us == [10_000, 30_000, 50_000, 70_000, 90_000]
    a = func_of(site, "A")
    assert names(site, ListQuery(by="total", order="worst", func_id=a))[:2] == ["v8", "v7"]
    assert names(site, ListQuery(by="self", order="worst", func_id=a))[:2] == ["v7", "v5"]


def test_the_distribution_is_of_all_views_or_says_of_how_many(site: Project, settings: Settings) -> None:
    spread = select_view_page(Slice(project_id=site.pk), ListQuery()).distribution
    assert spread.values_us == [10_000 * (n + 1) for n in range(COUNT)]
    assert (spread.looked_at, spread.population, spread.is_complete) == (COUNT, COUNT, True)
    assert spread.percentile_us(0.5) == 50_000
    assert spread.percentile_us(0.99) == 90_000
    settings.STATISTICS_MAX_VIEWS = 4
    spread = select_view_page(Slice(project_id=site.pk), ListQuery()).distribution
    assert (spread.looked_at, spread.population) == (4, COUNT)
    by_hash = sorted(range(COUNT), key=lambda n: sample_key(UUID(view_id_of(f"v{n}"))))[:4]
    assert spread.values_us == sorted(10_000 * (n + 1) for n in by_hash)


def test_beyond_the_bound_a_uniform_sample_is_put_in_order(site: Project, settings: Settings) -> None:
    settings.VIEW_LIST_MAX_VIEWS, settings.VIEW_LIST_SAMPLE = 5, 4
    picked = sorted(range(COUNT), key=lambda n: sample_key(UUID(view_id_of(f"v{n}"))))[:4]
    page = select_view_page(Slice(project_id=site.pk), ListQuery(order="worst"))
    assert names(site, ListQuery(order="worst")) == [f"v{n}" for n in sorted(picked, reverse=True)]
    assert (page.ranked, page.view_count, page.distribution.population) == (4, 4, COUNT)
    assert set(names(site, ListQuery(order="typical"))) == {f"v{n}" for n in picked}
    low = ListQuery(order="newest", low_us=10_000 * (sorted(picked)[1] + 1))
    assert names(site, low) == [f"v{n}" for n in sorted(picked)[1:]]
    # Those that need no order by time are found among all.
    assert names(site, ListQuery(order="newest", limit=3)) == ["v0", "v1", "v2"]
    assert select_view_page(Slice(project_id=site.pk), ListQuery(order="newest")).ranked == COUNT


def test_rows_have_their_traces_starts_and_vitals(site: Project) -> None:
    marks = [{"type": "lcp", "start": 700}]
    post("KEY-site", make_envelope("v3", "A", seq=1, page="/a", marks=marks))
    fold_all()
    page = select_view_page(Slice(project_id=site.pk), ListQuery(order="worst", limit=6))
    listed = {str(row.view.view_id): row for row in select_listed(site.pk, page)}
    row = listed[view_id_of("v3")]
    assert [trace.seq for trace in row.traces] == [0, 1]
    assert row.vitals is not None
    assert row.vitals.lcp_us is not None
    RawTrace.objects.filter(project_id=site.pk).delete()
    assert all(row.vitals is None for row in select_listed(site.pk, page))


def test_views_whose_rows_have_expired_are_not_listed(site: Project) -> None:
    PageView.objects.filter(project=site, view_id=view_id_of("v8")).delete()
    assert names(site, ListQuery(order="worst"))[0] == "v7"
    PageView.objects.filter(project=site).delete()
    page = select_view_page(Slice(project_id=site.pk), ListQuery(order="worst"))
    assert page.keys == []
    assert page.distribution.percentile_us(0.5) is None


def test_an_empty_slice_has_an_empty_list(site: Project) -> None:
    for order in LIST_ORDERS:
        assert names(site, ListQuery(order=order), page=["/none"]) == []


def test_a_view_of_another_project_is_not_selected(site: Project) -> None:
    foreign = UUID(view_id_of("foreign"))
    assert select_view(site.pk, foreign, release=None, page=None) is None
    other = Receipt.objects.get(view_id=foreign).project_id
    assert select_view(other, foreign, release=None, page=None) is not None


def test_a_view_that_came_with_two_pages_is_there_for_each(site: Project) -> None:
    post("KEY-site", make_envelope("v0", "B\nB", seq=1, page="/z", timeOrigin=TIME_ORIGIN_MS + 60_000))
    fold_all()
    view_id = UUID(view_id_of("v0"))
    first = select_view(site.pk, view_id, release=None, page=None)
    second = select_view(site.pk, view_id, release="1.0.0", page="/z")
    assert first is not None
    assert second is not None
    assert (first.page, first.others) == ("/a", [("1.0.0", "/z")])
    assert (second.page, second.others) == ("/z", [("1.0.0", "/a")])
    assert first.view is not None
    assert second.view is not None
    assert (first.view.time.js_us, second.view.time.js_us) == (10_000, 20_000)
    assert second.missing == [0]
    assert first.started_at - second.started_at <= timedelta(0)
