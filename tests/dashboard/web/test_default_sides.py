"""Which releases a verdict is on if nobody names them, and somebody made some up."""

import pytest
from django.http import QueryDict

from aggregate.selectors.slice.slices import Slice
from dashboard.web.verdicts import MAX_RELEASES, choose_sides, select_newest
from projects.models import Project
from projects.releases import announce_release
from tests.alerts.rolled_back import at, make_release, make_shop, receive
from tests.builders import make_group, make_timed_views

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    """1.0 has 1,920 page views and 1.1 has 2,400; the 25 newest releases have 20 of one page each."""
    made = make_shop()
    receive(made, "1.1", range(48, 68), views=60)
    for number in range(25):
        make_group(made, f"fake{number}", "/home", first_seen_at=at(70))
        make_timed_views(made, [90_000] * 20, release=f"fake{number}", page="/home", starts_at=at(70))
    return made


def chosen(project: Project, slice_: Slice | None = None) -> tuple[str, str] | None:
    sides = choose_sides(slice_ or Slice(project_id=project.pk), QueryDict())
    return (sides.base.releases[0], sides.head.releases[0]) if sides else None


def test_made_up_releases_are_neither_the_last_one_nor_its_base(project: Project) -> None:
    assert chosen(project) == ("1.0", "1.1")
    assert chosen(project, Slice(project_id=project.pk, pages=("/home",))) == ("1.0", "1.1")
    make_release(project, "1.2", 71)
    receive(project, "1.2", range(71, 72), views=25)
    assert chosen(project, Slice(project_id=project.pk, releases=("1.2",))) == ("1.1", "1.2")


def test_a_release_that_a_build_announced_is_the_last_one_with_few_page_views(project: Project) -> None:
    announce_release(project.pk, "fake3", at(71), {})
    assert chosen(project) == ("1.1", "fake3")


def test_in_a_slice_of_long_ago_its_own_releases_count(project: Project) -> None:
    long_ago = {"o1": -2_400, "o2": -2_390, "tried": -2_380}
    for release, hour in long_ago.items():
        make_release(project, release, hour)
        receive(project, release, range(hour, hour + 1), views=1 if release == "tried" else 40)
    for number in range(30, 130):  # since then each release had its share
        make_group(project, f"r{number}", "/home", first_seen_at=at(-number))
        make_timed_views(project, [90_000] * 100, release=f"r{number}", page="/home", starts_at=at(-number))
    spring = Slice(project_id=project.pk, ranges=((at(-2_500), at(-2_300)),))
    assert chosen(project, spring) == ("o1", "o2")


def test_without_two_that_count_those_of_the_slice_are_the_newest(project: Project) -> None:
    assert len(select_newest(Slice(project_id=project.pk), [])) == MAX_RELEASES
