"""Bots and staging are in no sum unless they are asked for, from cells and from roll-ups alike."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from aggregate.fold.rollups import roll_up_hours
from aggregate.maintenance.erasing import erase_view
from aggregate.maintenance.merging import merge_old_hours
from aggregate.selectors.functions.merged_slice import merge_slice
from aggregate.selectors.functions.table import select_functions
from aggregate.selectors.page_views.traces import select_traces
from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.project.pages import select_releases
from aggregate.selectors.slice.slices import Slice
from profcore.trace.dimensions import BROWSERS, ENVIRONMENTS
from projects.creation import create_project
from tests.aggregate.old_views import NOW, old_views
from tests.aggregate.posting import fold_all, post
from tests.aggregate.stored_state import assert_rollup_is_exact
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db

GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/150.0 Safari/537.36"
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"
PEOPLE = 12
ROBOTS = 4
# What is left out: the facts of its views, the value that asks for it, and all values of its dimension.
LEFT_OUT = {
    "bot": ({"userAgent": GOOGLEBOT}, ("browser", "bot"), BROWSERS),
    "staging": ({"userAgent": CHROME, "environment": "acme-staging"}, ("environment", "staging"), ENVIRONMENTS),
}


def views(prefix: str, facts: dict[str, str], count: int, stack: str) -> list[dict[str, Any]]:  # Any: JSON
    """Returns views of a day long ago, whose stacks hold one name more."""
    return [
        make_envelope(f"{prefix}{n}", f"{stack}\n{stack}", page=old["page"], viewStart=old["viewStart"], **facts)
        for n, old in enumerate(old_views(count))
    ]


def views_of_both(kind: str, people: int, robots: int) -> list[dict[str, Any]]:  # Any: JSON
    return [*views("person", {"userAgent": CHROME}, people, "Human"), *views("bot", LEFT_OUT[kind][0], robots, "Robot")]


@pytest.fixture(params=LEFT_OUT)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project_id(kind: str) -> int:
    project, _ = create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", *views_of_both(kind, PEOPLE, ROBOTS))
    fold_all()
    return project.pk


def do_nothing(kind: str) -> None:
    pass


def roll_up(kind: str) -> None:
    roll_up_hours(datetime.now(UTC))


def roll_up_and_merge(kind: str) -> None:
    roll_up(kind)
    merge_old_hours(NOW)


def roll_up_and_grow(kind: str) -> None:
    """More of both arrives in hours that are rolled."""
    roll_up(kind)
    post("shop-key", *[{**view, "seq": 1} for view in views_of_both(kind, 1, 1)])
    fold_all()


def names_of(slice_: Slice) -> set[str]:
    return {function.name for function in select_functions(slice_, limit=100).functions}


@pytest.mark.parametrize("later", [do_nothing, roll_up, roll_up_and_merge, roll_up_and_grow])
def test_sums_have_none_unless_they_are_asked_for(project_id: int, kind: str, later: Callable[[str], None]) -> None:
    later(kind)
    assert_rollup_is_exact()
    _, (name, value), values = LEFT_OUT[kind]
    everyone, bots = Slice(project_id=project_id), Slice(project_id=project_id, dimensions=((name, value),))
    of_all = Slice(project_id=project_id, dimensions=tuple((name, value) for value in values))
    for by in ([], ["release"], ["page", "day"]):
        assert select_overview(everyone, by, limit=100).whole.views == PEOPLE
        assert select_overview(bots, by, limit=100).whole.views == ROBOTS
        assert select_overview(of_all, by, limit=100).whole.views == PEOPLE + ROBOTS
    assert names_of(everyone) == {"Human"}
    assert names_of(bots) == {"Robot"}
    assert names_of(of_all) == {"Human", "Robot"}
    assert merge_slice(everyone).views == PEOPLE
    assert len(merge_slice(everyone).tree) == len(merge_slice(bots).tree) == 1
    assert sum(release.views for release in select_releases(project_id)) == PEOPLE


def test_erasing_one_changes_nothing_for_people(project_id: int, kind: str) -> None:
    roll_up(kind)
    before = select_overview(Slice(project_id=project_id), ["page"], limit=100)
    erase_view(project_id, UUID(view_id_of("bot0")))
    assert_rollup_is_exact()
    roll_up(kind)
    assert_rollup_is_exact()
    assert select_overview(Slice(project_id=project_id), ["page"], limit=100) == before


def test_a_view_that_is_named_is_shown(project_id: int) -> None:
    view_id = UUID(view_id_of("bot0"))
    assert len(select_traces(Slice(project_id=project_id, views=(view_id,)), limit=10)) == 1
    assert len(select_traces(Slice(project_id=project_id), limit=100)) == PEOPLE
