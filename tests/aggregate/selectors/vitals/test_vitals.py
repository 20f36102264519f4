"""Vitals over views: the sums of all of them are the oracle's, whatever their order; intervals lie around them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import DjangoDbBlocker, Settings

from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice, SliceError
from aggregate.selectors.vitals.table import VitalsQuery, VitalsTable, select_vitals
from ingest.models import RawTrace
from profcore.kernel import find_kernel
from profcore.vitals.windows import WINDOWS
from projects.models import Project
from tests.aggregate.selectors.vitals.recorded_visits import copy_visits, post_visits, read_visits
from tests.builders import make_project
from tests.profcore.vitals.oracle import script_in, windows_of
from tests.runner.keeping import keep

pytestmark = pytest.mark.django_db
Visit = list[dict[str, Any]]  # Any: JSON
EVERYTHING = VitalsQuery(limit=10_000)


@pytest.fixture(scope="module")
def visits() -> list[Visit]:
    return read_visits("1.2.0", 30)


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker, visits: list[Visit]) -> Iterator[Project]:
    yield from keep(django_db_blocker, lambda: make_shop(visits))


def make_shop(visits: list[Visit]) -> Project:
    project = make_project("shop")
    post_visits("KEY-shop", visits)
    return project


@pytest.fixture
def project(kept: Project, db: None) -> Project:
    """The shop of these tests: nearly all of them only read it."""
    return kept


def self_of(table: VitalsTable, window: str) -> Counter[Any]:
    window_table = table.find(window)
    assert window_table is not None
    sums: Counter[Any] = Counter()
    for function in window_table.rows:  # several scripts have a function without a name at one place
        sums[function.row.line, function.row.column, function.row.name] += function.row.self_us
    return sums


def test_the_sums_over_all_views_are_the_oracles(project: Project, visits: list[Visit]) -> None:
    table = select_vitals(Slice(project_id=project.pk), EVERYTHING)
    assert (table.population, table.read, table.gone) == (30, 30, 0)
    assert [window_table.window for window_table in table.windows] == list(WINDOWS)
    for window in WINDOWS:
        wanted: Counter[Any] = Counter()
        length_us = views = 0
        for visit in visits:
            ranges = windows_of(visit).get(window)
            if ranges is not None:
                self_us, _ = script_in(visit, ranges)
                for (_, line, column, name), us in self_us.items():
                    wanted[line, column, name] += us
                length_us += sum(end - start for start, end in ranges)
                views += 1
        window_table = table.find(window)
        assert window_table is not None
        assert +self_of(table, window) == +wanted
        assert (window_table.views, window_table.length_us) == (views, length_us)
        assert sum(window_table.parts_us) == length_us
        assert window_table.parts_us[0] == sum(wanted.values())


@pytest.mark.skipif(find_kernel().module is None, reason=find_kernel().why_pure)
def test_both_twins_answer_alike(project: Project, settings: Settings) -> None:
    tables = []
    for settings.KERNEL in ("pure", "compiled"):
        tables.append(select_vitals(Slice(project_id=project.pk), EVERYTHING))
    assert tables[0] == tables[1]


def test_a_job_over_pages_of_views_gives_the_same(project: Project, settings: Settings) -> None:
    settings.JOB_PAGE_VIEWS, settings.JOB_BATCH_TRACES = 7, 3
    slice_ = Slice(project_id=project.pk)
    read: list[int] = []
    by_job = select_vitals(slice_, EVERYTHING, reading=Reading.in_pages(read.append))
    assert by_job == select_vitals(slice_, EVERYTHING)
    assert sum(read) == RawTrace.objects.filter(project_id=project.pk).count()


def test_intervals_lie_around_the_sums(project: Project) -> None:
    table = select_vitals(Slice(project_id=project.pk), VitalsQuery(limit=5))
    frames = table.find("long_frames")
    assert frames is not None
    assert frames.length is not None
    assert frames.length.p75_ms.ci95 is not None
    top = frames.rows[0]
    assert top.summary is not None
    assert top.summary.share is not None
    assert top.summary.share.ci95 is not None
    assert top.summary.share.value == pytest.approx(top.row.cost_us / frames.length_us)
    assert top.summary.share.ci95.low <= top.summary.share.value <= top.summary.share.ci95.high
    assert [row.row.cost_us for row in frames.rows] == sorted((row.row.cost_us for row in frames.rows), reverse=True)


def test_groups_sum_up_their_functions(project: Project) -> None:
    slice_ = Slice(project_id=project.pk)
    functions = select_vitals(slice_, EVERYTHING).find("processing")
    origins = select_vitals(slice_, VitalsQuery(limit=10_000, group_by="category")).find("processing")
    assert functions is not None
    assert origins is not None
    assert sum(row.row.cost_us for row in origins.rows) == sum(row.row.cost_us for row in functions.rows)
    assert "first-party" in {row.row.id for row in origins.rows}


def test_only_slow_waits_leave_the_others_out(project: Project, visits: list[Visit]) -> None:
    table = select_vitals(Slice(project_id=project.pk), VitalsQuery(only_slow=True))
    interaction = table.find("interaction")
    slow = [
        span for visit in visits for span in windows_of(visit).get("interaction", ()) if span[1] - span[0] > 200_000
    ]
    assert (interaction.views if interaction else 0) == len(slow) > 0


def test_views_without_raw_traces_are_counted_as_gone(project: Project, visits: list[Visit]) -> None:
    RawTrace.objects.filter(project_id=project.pk, view_id=visits[0][0]["viewId"]).delete()
    table = select_vitals(Slice(project_id=project.pk), EVERYTHING)
    assert (table.population, table.read, table.gone) == (30, 29, 1)


def test_a_large_slice_is_read_by_a_uniform_sample(project: Project, visits: list[Visit], settings: Settings) -> None:
    settings.VITALS_MAX_VIEWS = 50
    post_visits("KEY-shop", copy_visits(visits[:6], 10))
    slice_ = Slice(project_id=project.pk)
    table = select_vitals(slice_, EVERYTHING)
    assert (table.population, table.read) == (90, 50)
    settings.VITALS_MAX_TRACES = 60
    assert 10 <= select_vitals(slice_, EVERYTHING).read < 50
    assert select_vitals(slice_, EVERYTHING) == select_vitals(slice_, EVERYTHING)


def test_named_views_are_read_and_named_traces_are_refused(project: Project, visits: list[Visit]) -> None:
    view = RawTrace.objects.filter(project_id=project.pk).values_list("view_id", flat=True)[0]
    assert select_vitals(Slice(project_id=project.pk, views=(view,)), EVERYTHING).read == 1
    with pytest.raises(SliceError, match="whole page views"):
        select_vitals(Slice(project_id=project.pk, tags=(("a", "b"),)), EVERYTHING)


def test_a_project_without_views_has_no_windows(db: None) -> None:
    table = select_vitals(Slice(project_id=make_project("empty").pk), EVERYTHING)
    assert (table.population, table.read, list(table.windows)) == (0, 0, [])
