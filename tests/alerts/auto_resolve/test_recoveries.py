"""What ends alarms of releases that newer ones replaced: what these take back, and that nobody looks any more."""

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import DjangoDbBlocker

from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.verdict.verdict import Verdict, select_verdict
from alerts import releases
from alerts.models import AlertState, StateChange
from alerts.reading import select_history
from ingest.models import Group
from profcore.alerts.states import State
from projects.models import Project
from projects.releases import announce_release
from tests.alerts.rolled_back import at, look, make_release, make_shop, receive
from tests.runner.keeping import keep

pytestmark = [pytest.mark.django_db, pytest.mark.slow(30)]


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Project]:
    """Two days of 1.0; each test lets a release follow on each day."""
    yield from keep(django_db_blocker, make_shop)


@pytest.fixture
def project(kept: Project) -> Project:
    return Project.objects.get(pk=kept.pk)


def release_next(project: Project, release: str, day: int, cart: float, views: int = 20) -> dict[str, str]:
    """Lets all users have another release on a day, and returns the states of /cart in the evening, by release."""
    make_release(project, release, day * 24)
    receive(project, release, range(day * 24, day * 24 + 24), cart=cart, views=views)
    look(project, day * 24 + 23)
    return cart_states(project)


def cart_states(project: Project) -> dict[str, str]:
    rows = AlertState.objects.filter(project=project, page="/cart")
    return {row.release: State(row.state).name for row in rows}


def test_a_release_that_is_slower_than_an_old_one_ends_no_alarm_of_the_first(project: Project) -> None:
    assert release_next(project, "1.1", 2, 1.1) == {"1.1": "CONFIRMED"}
    assert release_next(project, "1.2", 3, 1.4) == {"1.1": "CONFIRMED", "1.2": "CONFIRMED"}
    states = release_next(project, "1.3", 4, 1.2)  # 2.6 of 3.9 ms less than 1.2, and 1.3 ms more than 1.1
    assert (states["1.1"], states["1.2"]) == ("CONFIRMED", "RESOLVED")
    assert list(StateChange.objects.filter(cause="release", page="/cart").values_list("release", flat=True)) == ["1.2"]


def test_a_release_that_takes_back_all_of_it_ends_each_alarm(project: Project) -> None:
    release_next(project, "1.1", 2, 1.2)
    release_next(project, "1.2", 3, 1.4)
    states = release_next(project, "1.3", 4, 1.0)
    assert (states["1.1"], states["1.2"]) == ("RESOLVED", "RESOLVED")


def test_what_was_accepted_in_between_is_a_slowdown_all_the_same(project: Project) -> None:
    release_next(project, "1.1", 2, 1.1)
    release_next(project, "1.2", 3, 1.4)
    AlertState.objects.filter(release="1.2").update(state=State.RESOLVED, quiet=0)
    assert release_next(project, "1.3", 4, 1.2)["1.1"] == "CONFIRMED"


def suspect(release: str) -> None:
    AlertState.objects.filter(release=release, page="/cart").update(state=State.SUSPECTED)


def test_a_faster_release_ends_a_suspicion_and_it_stays_over(project: Project) -> None:
    release_next(project, "1.1", 2, 2.0)
    suspect("1.1")
    assert release_next(project, "1.2", 3, 1.0)["1.1"] == "OK"
    end = StateChange.objects.get(cause="release", page="/cart")
    assert (State(end.was), State(end.state), end.about_release) == (State.SUSPECTED, State.OK, "1.2")
    receive(project, "1.1", range(48, 72), cart=2.0, device="mobile-low", views=40)  # late ones: another look
    look(project, 96)
    assert AlertState.objects.get(release="1.1", page="/home").look == 2
    assert cart_states(project)["1.1"] == "OK"


def test_a_suspicion_of_a_release_that_is_not_watched_any_more_ends(project: Project) -> None:
    release_next(project, "1.1", 2, 1.5)
    suspect("1.1")
    for number in range(2, 4):
        states = release_next(project, f"1.{number}", number + 1, 1.5, views=10)
    assert states["1.1"] == "SUSPECTED"  # three are watched
    assert release_next(project, "1.4", 5, 1.5, views=10)["1.1"] == "OK"
    end = StateChange.objects.filter(release="1.1", page="/cart").latest("id")
    assert (end.cause, State(end.was)) == ("unwatched", State.SUSPECTED)
    said = select_history(project, before=None, most=99, id=end.id)[0].said
    assert said.headline == f"1.1 is no longer evaluated; it may have made {end.page} slower"
    assert AlertState.objects.get(release="1.1", page="/cart").look == 1


def test_an_ended_release_of_a_site_with_one_page_is_not_compared_again_and_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    Group.objects.filter(page="/home").delete()
    release_next(project, "1.1", 2, 2.0)
    assert release_next(project, "1.2", 3, 1.0)["1.1"] == "RESOLVED"
    receive(project, "1.1", range(48, 72), cart=2.0, device="mobile-low", views=60)  # late ones: another look
    asked: list[str] = []

    def note(base: Slice, head: Slice, **named: Any) -> Verdict:
        asked.append(head.releases[0])
        return select_verdict(base, head, **named)

    monkeypatch.setattr(releases, "select_verdict", note)
    for hour in (96, 97):
        look(project, hour)
    assert "1.1" not in asked


def test_a_confirmed_alarm_of_such_a_release_stays(project: Project) -> None:
    release_next(project, "1.1", 2, 1.5)
    for number in range(2, 5):
        states = release_next(project, f"1.{number}", number + 1, 1.5, views=10)
    assert states["1.1"] == "CONFIRMED"
    look(project, 48 + 40 * 24)
    assert cart_states(project)["1.1"] == "CONFIRMED"


def test_a_suspicion_ends_when_its_release_was_watched_for_its_days(project: Project) -> None:
    release_next(project, "1.1", 2, 1.5)
    suspect("1.1")
    look(project, 48 + 27 * 24)
    suspect("1.1")  # by then all of the plan of looks is over
    look(project, 48 + 27 * 24)
    assert cart_states(project)["1.1"] == "SUSPECTED"
    look(project, 48 + 29 * 24)
    assert cart_states(project)["1.1"] == "OK"


def test_looks_at_another_base_do_not_keep_the_next_ones_from_being_taken(project: Project) -> None:
    """What ended when 1.2 was gone keeps its look at 1.1; the looks at 1.0 begin with the first one."""
    release_next(project, "1.1", 2, 1.0)
    release_next(project, "1.2", 3, 2.0)
    AlertState.objects.filter(release="1.2").update(look=5, state=State.OK)
    rows = AlertState.objects.filter(release="1.2", page="/cart")
    rows.update(state=State.RESOLVED, quiet=2, since_at=at(95))
    row = rows.get()
    StateChange.objects.create(
        project=project,
        id=999,
        alert_id=0,
        subject_key=bytes(row.subject_key),
        release="1.2",
        page="/cart",
        state=State.RESOLVED,
        at=at(95),
        was=State.CONFIRMED,
        cause="gone",
        asked={"kind": "release", "name": "New releases", "question": {}},
    )
    StateChange.objects.filter(release="1.1").delete()
    AlertState.objects.filter(release="1.1").delete()
    announce_release(project.pk, "1.1", at(95), {"rolled_back_at": at(95)})
    look(project, 95)
    home = AlertState.objects.get(release="1.2", page="/home")
    assert (home.base_release, home.look) == ("1.0", 1)
