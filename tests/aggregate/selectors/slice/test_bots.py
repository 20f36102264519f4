"""Bots are in no sum unless they are asked for, from cells and from roll-ups alike."""

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
from profcore.trace.dimensions import BROWSERS
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


def views(prefix: str, agent: str, count: int, stack: str) -> list[dict[str, Any]]:  # Any: JSON
    """Returns views of a day long ago, whose stacks hold one name more."""
    return [
        make_envelope(
            f"{prefix}{n}", f"{stack}\n{stack}", page=old["page"], userAgent=agent, viewStart=old["viewStart"]
        )
        for n, old in enumerate(old_views(count))
    ]


@pytest.fixture
def project_id() -> int:
    project, _ = create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", *views("person", CHROME, PEOPLE, "Human"), *views("bot", GOOGLEBOT, ROBOTS, "Robot"))
    fold_all()
    return project.pk


def roll_up() -> None:
    roll_up_hours(datetime.now(UTC))


def roll_up_and_merge() -> None:
    roll_up()
    merge_old_hours(NOW)


def roll_up_and_grow() -> None:
    """More of both arrives in hours that are rolled."""
    roll_up()
    more = [*views("person", CHROME, 1, "Human"), *views("bot", GOOGLEBOT, 1, "Robot")]
    post("shop-key", *[{**view, "seq": 1} for view in more])
    fold_all()


def names_of(slice_: Slice) -> set[str]:
    return {function.name for function in select_functions(slice_, limit=100).functions}


@pytest.mark.parametrize("later", [lambda: None, roll_up, roll_up_and_merge, roll_up_and_grow])
def test_sums_have_no_bots_unless_they_are_asked_for(project_id: int, later: Callable[[], None]) -> None:
    later()
    assert_rollup_is_exact()
    everyone, bots = Slice(project_id=project_id), Slice(project_id=project_id, dimensions=(("browser", "bot"),))
    all_browsers = Slice(project_id=project_id, dimensions=tuple(("browser", value) for value in BROWSERS))
    for by in ([], ["release"], ["page", "day"]):
        assert select_overview(everyone, by, limit=100).whole.views == PEOPLE
        assert select_overview(bots, by, limit=100).whole.views == ROBOTS
        assert select_overview(all_browsers, by, limit=100).whole.views == PEOPLE + ROBOTS
    assert names_of(everyone) == {"Human"}
    assert names_of(bots) == {"Robot"}
    assert names_of(all_browsers) == {"Human", "Robot"}
    assert merge_slice(everyone).views == PEOPLE
    assert len(merge_slice(everyone).tree) == len(merge_slice(bots).tree) == 1
    assert sum(release.views for release in select_releases(project_id)) == PEOPLE


def test_erasing_a_bot_changes_nothing_for_people(project_id: int) -> None:
    roll_up()
    before = select_overview(Slice(project_id=project_id), ["page"], limit=100)
    erase_view(project_id, UUID(view_id_of("bot0")))
    assert_rollup_is_exact()
    roll_up()
    assert_rollup_is_exact()
    assert select_overview(Slice(project_id=project_id), ["page"], limit=100) == before


def test_a_bots_view_that_is_named_is_shown(project_id: int) -> None:
    view_id = UUID(view_id_of("bot0"))
    assert len(select_traces(Slice(project_id=project_id, views=(view_id,)), limit=10)) == 1
    assert len(select_traces(Slice(project_id=project_id), limit=100)) == PEOPLE
