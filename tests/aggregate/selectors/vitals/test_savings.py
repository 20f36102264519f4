"""What would it save: own time at least, all that it called at most; a rare and noisy cost comes after a sure one."""

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from aggregate.selectors.vitals.savings import Saving, find_in_windows, rank_savings
from aggregate.selectors.vitals.table import VitalsQuery, select_vitals
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.envelopes import make_envelope
from tests.runner.keeping import keep

VIEWS = 60
CLICK = {"type": "interaction", "name": "click", "start": 10, "duration": 40, "interactionId": 7}
CLICK |= {"processingStart": 12, "processingEnd": 38}
PAINT = {"type": "largest-contentful-paint", "start": 20, "duration": 0}


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Project]:
    yield from keep(django_db_blocker, make_shop)


def make_shop() -> Project:
    """In each view, `steady` takes 10 ms and calls `inner` for 20 ms; in one of ten, `rare` takes 200 ms."""
    project = make_project("shop")
    for number in range(VIEWS):
        columns = "steady\nsteady inner\nsteady inner\n" + ("rare\n" * 20 if number % 10 == 0 else "")
        post("KEY-shop", make_envelope(f"v{number}", columns + "-", marks=[CLICK, PAINT]))
    fold_all()
    return project


@pytest.fixture
def savings(kept: Project, db: None) -> dict[str, Saving]:
    slice_ = Slice(project_id=kept.pk)
    table = select_estimated(slice_, TableQuery(sort="cost_ms_per_view", measure="self+hidden"))
    return {saving.row.name: saving for saving in rank_savings(table, select_vitals(slice_, VitalsQuery()), limit=10)}


def test_bounds_are_own_time_and_time_with_calls(savings: dict[str, Saving]) -> None:
    assert {name: (saving.own_ms, saving.most_ms) for name, saving in savings.items()} == {
        "inner": (20, 20),
        "steady": (10, 30),
        "rare": (20, 20),
    }


def test_a_sure_cost_comes_before_a_rare_one_of_the_same_mean(savings: dict[str, Saving]) -> None:
    assert list(savings) == ["inner", "steady", "rare"]
    assert savings["inner"].sure_ms == pytest.approx(20)
    assert 0 < savings["rare"].sure_ms < 10
    assert savings["rare"].summary is not None
    assert savings["rare"].summary.ran.value == pytest.approx(0.1)


def test_a_row_says_what_it_takes_in_the_windows_of_vitals(savings: dict[str, Saving], kept: Project) -> None:
    inner, rare = savings["inner"], savings["rare"]
    assert inner.lcp is not None
    assert (inner.lcp.ms, inner.lcp.share) == (10, 0.5)
    assert inner.interaction is not None
    assert (inner.interaction.ms, inner.interaction.share) == (20, 0.5)
    assert rare.lcp is None
    assert rare.interaction is not None
    assert rare.interaction.ms == pytest.approx(20 * 0.1)
    vitals = select_vitals(Slice(project_id=kept.pk), VitalsQuery())
    assert {row.window: row.ms for row in find_in_windows(vitals, inner.row.id)} == {"lcp": 10, "interaction": 20}


def test_parties_are_ranked_too(kept: Project, db: None) -> None:
    slice_ = Slice(project_id=kept.pk)
    query = TableQuery(group_by="origin", sort="cost_ms_per_view", measure="self+hidden")
    (only,) = rank_savings(select_estimated(slice_, query), None, limit=10)
    assert (only.row.id, only.own_ms, only.most_ms) == ("https://shop.example", 50, 50)


def test_too_few_views_are_ranked_by_their_mean(db: None) -> None:
    project = make_project("fresh")
    post("KEY-fresh", make_envelope("v0", "A\nB\nB\n-"))
    fold_all()
    table = select_estimated(Slice(project_id=project.pk), TableQuery(sort="cost_ms_per_view", measure="self+hidden"))
    ranking = rank_savings(table, None, limit=10)
    assert [(saving.row.name, saving.own_ms, saving.sure_ms) for saving in ranking] == [("B", 20, 0), ("A", 10, 0)]
