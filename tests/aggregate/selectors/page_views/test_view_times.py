"""Samples of views' own times: whole where few, of one chance for all where many, however they lie in cells."""

from datetime import timedelta

import numpy as np
import pytest

from aggregate.models import PageView
from aggregate.selectors.page_views.contributions import select_slice_views
from aggregate.selectors.page_views.samples import ViewSampler, select_view_sample
from aggregate.selectors.page_views.view_times import Stratum, select_view_times
from aggregate.selectors.slice.slices import Slice
from profcore.sums.blobs import Contribution, encode_contribution
from projects.models import Project
from tests.builders import MONDAY, make_project, make_timed_views

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return make_project("shop")


def test_few_views_are_all_there_with_their_facts(project: Project) -> None:
    make_timed_views(project, [1_000, 2_000], hidden_us=500, device="mobile", sample_rate=0.5)
    make_timed_views(project, [9_000], release="other")
    times = select_view_times(
        Slice(project_id=project.pk), [Stratum(views=2, release="1.0.0"), Stratum(views=1, release="other")], most=10
    )
    columns = times.facts(0)
    assert sorted(columns.js_us.tolist()) == [1_000, 2_000]
    assert columns.hidden_us.tolist() == [500, 500]
    assert columns.sample_rate.tolist() == [0.5, 0.5]
    assert times.facts(1).js_us.tolist() == [9_000]
    assert times.facts(1).sample_rate.tolist() == [1.0]


def test_views_have_their_hour_traits_and_session(project: Project) -> None:
    make_timed_views(project, [1_000], traits=131, session=-7)
    make_timed_views(project, [2_000], starts_at=MONDAY + timedelta(hours=1))
    slice_, hour = Slice(project_id=project.pk), int(MONDAY.timestamp()) // 3_600
    read = select_view_times(slice_, [Stratum(views=2)], most=10).columns
    sampled = select_view_sample(slice_).columns
    sampler = ViewSampler(10)
    for view in select_slice_views(slice_):
        sampler.add(view, view.time, view.contribution)
    for columns in (read, sampled, sampler.sample().columns):
        facts = zip(columns.js_us.tolist(), columns.hour.tolist(), columns.traits.tolist(), strict=True)
        assert sorted(facts) == [(1_000, hour, 131), (2_000, hour + 1, 0)]
    assert sorted(read.session.tolist()) == [-7, 0]  # only the verdict needs it


def test_strata_are_by_page_and_by_bucket_too(project: Project) -> None:
    later = MONDAY + timedelta(days=1)
    for page, at, us in (("/a", MONDAY, 1), ("/a", later, 2), ("/b", later, 3)):
        make_timed_views(project, [us], page=page, starts_at=at)
    midnight = later.replace(hour=0)
    by_day = select_view_times(Slice(project_id=project.pk), [Stratum(views=2, at=midnight)], most=10, bucket="day")
    assert sorted(by_day.columns.js_us.tolist()) == [2, 3]
    by_page = select_view_times(
        Slice(project_id=project.pk), [Stratum(views=1, page="/b"), Stratum(views=2, page="/a")], most=10
    )
    times = zip(by_page.stratum.tolist(), by_page.columns.js_us.tolist(), strict=True)
    assert sorted(times) == [(0, 3), (1, 1), (1, 2)]


@pytest.mark.slow(8)
def test_a_large_stratum_is_sampled_evenly_over_large_and_small_cells(project: Project) -> None:
    # Half of the views lie in one cell, half in cells of one to three, of which only some are asked.
    make_timed_views(project, [1_000] * 1_200, page="/large")
    for n in range(600):
        make_timed_views(project, [2_000] * (1 + n % 3), page="/small", starts_at=MONDAY + timedelta(hours=n))
    times = select_view_times(Slice(project_id=project.pk), [Stratum(views=2_400)], most=300)
    large, small = (int(np.count_nonzero(times.columns.js_us == us)) for us in (1_000, 2_000))
    # 150 of each are expected; five standard deviations.
    assert 90 < large < 210
    assert 90 < small < 215


def test_a_slice_without_views_has_an_empty_sample(project: Project) -> None:
    times = select_view_times(Slice(project_id=project.pk), [], most=10)
    assert (times.stratum.size, times.columns.js_us.size) == (0, 0)


def test_functions_are_read_of_as_many_views_as_their_bytes_and_number_allow(project: Project) -> None:
    us, one, none = [1_000] * 40, [1] * 40, [0] * 40
    blob = encode_contribution(Contribution([*range(1, 41)], us, us, none, one, one, none, none))
    for page in ("/a", "/b"):
        make_timed_views(project, [1_000] * 50, page=page)
    PageView.objects.filter(project=project).update(contribution=blob)
    strata = [Stratum(views=50, page=page) for page in ("/a", "/b")]

    def read(most_bytes: int, most: int) -> list[int]:
        times = select_view_times(Slice(project_id=project.pk), strata, most=100, function_bytes=most_bytes)
        assert times.stratum.size == 100
        stratum, sample = times.functions(most)
        assert sample.views == stratum.size
        return [int(np.sum(stratum == number)) for number in range(2)]

    assert read(10**6, 10**6) == [50, 50]
    assert read(20 * len(blob), 10**6) == [20, 20]
    assert read(10**6, 2 * 400 + 1) == [10, 10]
    assert read(0, 10**6) == [0, 0]
