"""A new release is compared with the one that users had before it, not with one that was rolled back."""

import pytest

from aggregate.selectors.project.announcements import select_said_rollbacks
from aggregate.selectors.project.pages import select_releases
from alerts.bases import MAX_NAMED, BaseChoice, Rollback, choose_base, select_rolled_back
from alerts.models import AlertState, StateChange
from ingest.models import Group
from profcore.alerts.states import State
from projects.models import AuditEntry, Project
from projects.releases import announce_release
from tests.alerts.rolled_back import START, at, look, make_release, make_shop, make_slow_shop, receive

pytestmark = [pytest.mark.django_db, pytest.mark.slow(20)]


@pytest.fixture
def project() -> Project:
    return make_slow_shop()


def choose(project: Project, *candidates: str, hour: int = 120) -> BaseChoice:
    rollbacks = select_rolled_back(project.pk, select_said_rollbacks(project.pk, at(hour)), at(hour))
    return choose_base(project.pk, "1.2", candidates or ("1.1", "1.0"), select_releases(project.pk), rollbacks)


def test_a_release_whose_alarms_ended_by_a_rollback_is_passed_over(project: Project) -> None:
    look(project, 71)
    receive(project, "1.0", range(72, 96))
    make_release(project, "1.2", 80)  # too early to tell without alerts
    receive(project, "1.2", range(80, 96), views=2)
    assert choose(project) == BaseChoice("1.1")
    look(project, 95)
    assert select_rolled_back(project.pk, {}, at(96)) == {"1.1": at(95)}
    assert choose(project) == BaseChoice("1.0", (Rollback("1.1", at(95)),))
    assert select_rolled_back(project.pk, {}, at(95 + 29 * 24)) == {}  # by then it is known no more


def test_a_release_that_came_back_is_not_passed_over(project: Project) -> None:
    look(project, 71)
    receive(project, "1.0", range(72, 96))
    look(project, 95)
    receive(project, "1.1", range(96, 120), cart=2.0)
    look(project, 110)
    assert StateChange.objects.filter(cause="back").exists()
    make_release(project, "1.2", 121)
    assert select_rolled_back(project.pk, {}, at(121)) == {}
    assert choose(project) == BaseChoice("1.1")


def test_a_release_without_alarms_is_asked_about_when_the_next_one_came(project: Project) -> None:
    receive(project, "1.0", range(72, 100))
    make_release(project, "1.2", 100)
    receive(project, "1.2", range(100, 130))  # that everybody has it by now does not matter
    assert not StateChange.objects.exists()
    known_at = select_releases(project.pk)[0].first_seen_at
    assert choose(project) == BaseChoice("1.0", (Rollback("1.1", known_at),))
    look(project, 129)
    assert set(AlertState.objects.filter(release="1.2").values_list("base_release", flat=True)) == {"1.0"}


@pytest.mark.parametrize("first_hour", [97, 102, 118])
def test_the_answer_stays_when_hours_were_merged_into_days(first_hour: int) -> None:
    shop = make_shop()
    for day, release, views in ((2, "1.1", 60), (3, "1.0", 60), (4, "1.0", 20), (4, "1.2", 60), (5, "1.2", 60)):
        for device in ("desktop", "mobile-low", "mobile-high"):
            receive(shop, release, range(day * 24, day * 24 + 1), views=views, device=device)
    make_release(shop, "1.2", first_hour)
    Group.objects.filter(release="1.2").update(first_seen_at=at(first_hour))
    assert choose(shop) == BaseChoice("1.0", (Rollback("1.1", at(first_hour)),))


def test_a_repair_on_the_day_of_the_rollback_is_compared_with_what_was_rolled_back(project: Project) -> None:
    receive(project, "1.0", range(72, 80))
    make_release(project, "1.2", 80)
    assert choose(project) == BaseChoice("1.1")  # eight hours may be a night


def test_what_somebody_says_counts_at_once_and_until_it_is_taken_back(project: Project) -> None:
    receive(project, "1.0", range(72, 80))
    make_release(project, "1.2", 80)
    announce_release(project.pk, "1.1", at(79), {"rolled_back_at": at(78)})
    assert choose(project) == BaseChoice("1.0", (Rollback("1.1", at(78)),))
    assert choose(project, hour=77) == BaseChoice("1.1")  # it will be rolled back
    announce_release(project.pk, "1.1", at(79), {"commit": "c0ffee"})  # said for another reason
    assert choose(project).release == "1.0"
    announce_release(project.pk, "1.1", at(81), {"rolled_back_at": None})
    assert choose(project) == BaseChoice("1.1")
    acts = AuditEntry.objects.filter(act__startswith="release.").order_by("id")
    assert list(acts.values_list("act", flat=True)) == ["release.rolled_back", "release.restored"]


def test_a_release_that_is_replaced_is_the_base(project: Project) -> None:
    receive(project, "1.1", range(72, 100))
    receive(project, "1.0", range(72, 100), views=1)
    make_release(project, "1.2", 100)
    receive(project, "1.2", range(100, 102))
    known = select_releases(project.pk)
    assert choose_base(project.pk, "1.2", ("1.1", "1.0"), known, {}) == BaseChoice("1.1")
    assert choose_base(project.pk, "1.2", ("1.1",), known, {"1.1": START}) == BaseChoice("1.1")


def test_of_many_releases_few_are_asked_about(project: Project) -> None:
    receive(project, "1.0", range(72, 100))
    names = [f"1.1.{number}" for number in range(9, 0, -1)]
    for name in names:
        make_release(project, name, 49)
        receive(project, name, range(49, 55))
    make_release(project, "1.2", 100)
    known = select_releases(project.pk)
    choice = choose_base(project.pk, "1.2", (*names, "1.0"), known, {})
    assert (choice.release, len(choice.passed_over)) == (names[3], 3)


def test_if_all_were_rolled_back_the_newest_is_the_base(project: Project) -> None:
    make_release(project, "1.2", 100)
    rollbacks = {"1.1": at(99), "1.0": at(99)}
    assert choose_base(project.pk, "1.2", ("1.1", "1.0"), select_releases(project.pk), rollbacks) == BaseChoice("1.1")


def test_few_are_named_of_many_that_were_passed_over(project: Project) -> None:
    names = [f"1.1.{number}" for number in range(999, 0, -1)]
    choice = choose_base(project.pk, "1.2", (*names, "1.0"), [], dict.fromkeys(names, START))
    assert choice == BaseChoice("1.0", tuple(Rollback(name, START) for name in names[:MAX_NAMED]))


def test_another_projects_rollbacks_do_not_count(project: Project) -> None:
    StateChange.objects.create(
        project_id=project.pk + 1,
        id=1,
        alert_id=0,
        subject_key=b"k",
        release="1.1",
        state=State.OK,
        at=at(99),
        was=State.CONFIRMED,
        cause="gone",
        asked={"kind": "release", "name": "New releases", "question": {}},
    )
    assert select_rolled_back(project.pk, {}, at(100)) == {}
