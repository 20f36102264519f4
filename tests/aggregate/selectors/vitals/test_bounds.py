"""What a stranger may post bounds what vitals read: per view, per answer, and by processor time."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID, uuid5

import pytest
from pytest_django import DjangoDbBlocker, Settings

from aggregate.raw_bodies import StoredBody
from aggregate.selectors.page_views.samples import ViewSampler
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice, SliceError
from aggregate.selectors.vitals import view_windows
from aggregate.selectors.vitals.table import VitalsQuery, VitalsTable, select_vitals
from ingest.models import Receipt
from profcore.stats.sampling import sample_key
from profcore.stats.views import ViewSample
from profcore.trace.marks import TimelineMark
from profcore.vitals.windows import WINDOW_MARKS, ViewWindows, find_windows
from projects.models import Project
from tests.aggregate.selectors.vitals.recorded_visits import post_visits, read_visits
from tests.builders import make_project
from tests.envelopes import NAMESPACE
from tests.runner.keeping import keep

pytestmark = pytest.mark.django_db
Visit = list[dict[str, Any]]  # Any: JSON
EVERYTHING = VitalsQuery(limit=10_000)
VISITS = 8


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Project]:
    yield from keep(django_db_blocker, make_shop)


def make_shop() -> Project:
    project = make_project("shop")
    post_visits("KEY-shop", read_visits("1.2.0", VISITS))
    return project


@pytest.fixture
def project(kept: Project, db: None) -> Project:
    return kept


@pytest.fixture
def expanded(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> list[int]:
    """The bytes of each body that the pure twin expands."""
    settings.KERNEL = "pure"
    sizes: list[int] = []
    expand = StoredBody.expand

    def note(body: StoredBody) -> bytes:
        sizes.append(len(content := expand(body)))
        return content

    monkeypatch.setattr(StoredBody, "expand", note)
    return sizes


def sizes_by_view(project: Project) -> dict[UUID, tuple[int, int]]:
    """Returns the traces and expanded bytes of each view."""
    sizes: dict[UUID, tuple[int, int]] = {}
    for view_id, size in Receipt.objects.filter(project=project).values_list("view_id", "body_bytes"):
        traces, total = sizes.get(view_id, (0, 0))
        sizes[view_id] = traces + 1, total + size
    return sizes


def ask(project: Project, *, by_job: bool = False) -> VitalsTable:
    return select_vitals(Slice(project_id=project.pk), EVERYTHING, reading=Reading.in_pages() if by_job else None)


@pytest.mark.parametrize("by_job", [False, True], ids=["at once", "by a job"])
def test_views_of_too_many_bytes_are_left_out_unread(
    project: Project, settings: Settings, expanded: list[int], by_job: bool
) -> None:
    sizes = sorted(size for _, size in sizes_by_view(project).values())
    settings.VITALS_VIEW_MAX_BYTES = sizes[VISITS // 2]
    fit = [size for size in sizes if size <= settings.VITALS_VIEW_MAX_BYTES]
    table = ask(project, by_job=by_job)
    assert (table.population, table.read, table.too_large) == (VISITS, len(fit), VISITS - len(fit))
    assert 0 < table.too_large < VISITS
    assert sum(expanded) == sum(fit)


@pytest.mark.parametrize("by_job", [False, True], ids=["at once", "by a job"])
def test_views_of_too_many_traces_are_not_even_looked_up(
    project: Project, settings: Settings, monkeypatch: pytest.MonkeyPatch, by_job: bool
) -> None:
    counts = sorted(traces for traces, _ in sizes_by_view(project).values())
    settings.VITALS_VIEW_MAX_TRACES = counts[0]
    looked_up: list[int] = []
    select = view_windows.WindowReader._select_stored

    def note(reader: view_windows.WindowReader, views: Any) -> Any:  # Any: as it has them
        traces = select(reader, views)
        looked_up.extend(map(len, traces.values()))
        return traces

    monkeypatch.setattr(view_windows.WindowReader, "_select_stored", note)
    table = ask(project, by_job=by_job)
    few = counts.count(counts[0])
    assert (table.read, table.too_large) == (few, VISITS - few)
    assert looked_up == [counts[0]] * few


def test_an_answer_reads_a_limited_number_of_bytes_and_says_of_how_many_views(
    project: Project, settings: Settings, expanded: list[int]
) -> None:
    sizes = sizes_by_view(project)
    ordered = [sizes[view_id][1] for view_id in sorted(sizes, key=sample_key)]
    settings.VITALS_MAX_BYTES = sum(ordered[:3])
    table = ask(project)
    assert (table.population, table.read, table.too_large) == (VISITS, 3, 0)
    assert sum(expanded) == settings.VITALS_MAX_BYTES


def test_named_views_are_read_within_the_same_bounds(project: Project, settings: Settings) -> None:
    slice_ = Slice(project_id=project.pk, views=tuple(sizes_by_view(project)))
    assert select_vitals(slice_, EVERYTHING).read == VISITS
    settings.VITALS_MAX_BYTES = 1
    table = select_vitals(slice_, EVERYTHING)
    assert (table.population, table.read) == (VISITS, 1)
    settings.VITALS_MAX_VIEWS = VISITS - 1
    with pytest.raises(SliceError, match="more than"):
        select_vitals(slice_, EVERYTHING)


def test_an_answer_ends_when_its_processor_time_is_over(project: Project, settings: Settings) -> None:
    settings.VITALS_READ_S = 0
    assert ask(project).read == 1
    assert ask(project, by_job=True).read == VISITS


def test_an_answer_ends_when_it_has_met_many_functions(project: Project, settings: Settings) -> None:
    settings.VITALS_MAX_FUNCS = 1
    assert ask(project).read == 1
    assert ask(project, by_job=True).read == VISITS


def test_a_job_ends_when_it_has_met_too_many_functions(project: Project, settings: Settings) -> None:
    settings.JOB_MAX_FUNCS = 1
    with pytest.raises(SliceError, match="more than 1 functions"):
        ask(project, by_job=True)


def test_intervals_come_from_fewer_views_if_these_run_many_functions(
    project: Project, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[int] = []

    class Noting(ViewSampler):
        def sample(self, id_of: Sequence[int] | None = None) -> ViewSample:
            view_sample = super().sample(id_of)
            if id_of is not None:  # that of functions
                kept.append(len(view_sample.columns.js_us))
            return view_sample

    monkeypatch.setattr("aggregate.selectors.vitals.table.ViewSampler", Noting)
    whole = [(window.views, window.length_us) for window in ask(project).windows]
    before = sum(kept)
    settings.VITALS_SAMPLE_MAX_FUNCS = 1
    kept.clear()
    assert [(window.views, window.length_us) for window in ask(project).windows] == whole  # sums are of all views
    assert sum(kept) < before
    assert min(kept) == 1


def test_an_id_on_many_pages_does_not_have_all_of_them_read(project: Project, settings: Settings) -> None:
    visit = read_visits("1.2.0", 1)[0][:1]
    many = uuid5(NAMESPACE, "one id on many pages")
    pages = [[{**visit[0], "viewId": str(many), "seq": at, "page": f"/page-{at}"}] for at in range(20)]
    post_visits("KEY-shop", pages)
    settings.VITALS_MAX_VIEWS = settings.READ_MAX_VIEWS = 10
    table = ask(project)
    assert (table.population, table.read) == (VISITS + 20, 10)


def test_only_marks_that_windows_are_found_in_are_read(
    project: Project, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.KERNEL = "pure"
    types: set[str] = set()

    def note(marks: Sequence[TimelineMark]) -> ViewWindows:
        types.update(mark.type for mark in marks)
        return find_windows(marks)

    monkeypatch.setattr("profcore.vitals.view_readers.find_windows", note)
    assert ask(project).read == VISITS
    assert {"largest-contentful-paint", "long-animation-frame"} <= types <= WINDOW_MARKS
