"""A slow release that is rolled back ends its alarms, is told, and opens them again if it comes back."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from pytest_django import DjangoDbBlocker

from alerts.auto_resolve import usage
from alerts.channels import Terms, create_channel
from alerts.delivery.bodies import encode_change
from alerts.models import AlertState, Notice, StateChange
from alerts.reading import select_history
from alerts.subjects import Subject
from ingest.models import Group
from profcore.alerts.states import State
from projects.models import Project
from projects.releases import announce_release
from tests.alerts.rolled_back import PAGES, START, TIMES, at, look, make_release, make_slow_shop, receive
from tests.builders import make_group, make_timed_views, make_views_of_hours
from tests.runner.keeping import keep

pytestmark = [pytest.mark.django_db, pytest.mark.slow(60)]


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Project]:
    yield from keep(django_db_blocker, make_slow_shop)


@pytest.fixture
def project(kept: Project) -> Project:
    return Project.objects.get(pk=kept.pk)


def evaluate(project: Project, hour: int) -> dict[str, str]:
    look(project, hour)
    rows = AlertState.objects.filter(project=project, release="1.1")
    return {row.page or "all": State(row.state).name for row in rows}


@pytest.mark.always
def test_a_rollback_ends_the_alarm_after_a_day_and_says_what_users_have(project: Project) -> None:
    address = ["https://hooks.example/secret"]
    channel, _ = create_channel(
        project=project, kind="webhook", name="Team", addresses=address, terms=Terms(), now=START
    )
    assert evaluate(project, 71)["/cart"] == "CONFIRMED"
    receive(project, "1.0", range(72, 96))
    receive(project, "1.1", range(72, 96, 8), cart=2.0, views=4)
    assert evaluate(project, 80)["/cart"] == "CONFIRMED"  # most of the last day had it
    states = evaluate(project, 95)
    assert (states["/cart"], states["/home"]) == ("RESOLVED", "OK")
    end = StateChange.objects.get(page="/cart", state=State.RESOLVED)
    assert (end.cause, end.about_release, end.release, end.base_release) == ("gone", "1.0", "1.1", "1.0")
    assert (end.views, end.base_views) == (12, 480)
    row = AlertState.objects.get(release="1.1", page="/cart")
    assert (row.views, row.base_views) == (480, 960)  # of the look that its figures are of
    assert end.value == pytest.approx(13.0)  # what it cost stays known
    assert Notice.objects.filter(change_id=end.id, channel_id=channel.id).exists()
    entry = next(entry for entry in select_history(project, before=None, most=9) if entry.change.id == end.id)
    assert entry.said.headline == "1.1 is no longer in use: users of /cart have 1.0 again"
    assert entry.said.how_much == "97 % of the page views of the last 24 hours have other releases, most of them 1.0"
    assert entry.said.how_sure == "12 of 492 page views in the last 24 hours have 1.1"
    assert entry.said.since == "2026-11-18 23:30 UTC until 2026-11-19 23:30 UTC"
    body = encode_change(entry)
    assert (body["cause"], body["about_release"], body["views"]) == ("gone", "1.0", [480, 12])
    assert "/projects/shop/compare/?base_release=1.0&head_release=1.1&page=%2Fcart" in body["url"]


def test_what_somebody_says_was_rolled_back_ends_at_once_and_is_reported(project: Project) -> None:
    evaluate(project, 71)
    receive(project, "1.0", range(72, 74))
    announce_release(project.pk, "1.1", at(72), {"rolled_back_at": at(72)})
    assert evaluate(project, 72)["/cart"] == "RESOLVED"
    end = StateChange.objects.get(page="/cart", state=State.RESOLVED)
    assert (end.cause, end.about_release, end.views, end.base_views) == ("rollback", "1.0", 460, 20)
    entry = next(entry for entry in select_history(project, before=None, most=9) if entry.change.id == end.id)
    assert entry.said.headline == "1.1, which had made /cart slower, was rolled back"
    assert entry.said.how_much == "it was +13 ms script and hidden time per view (+100 %)"
    assert entry.said.how_sure == "460 of 480 page views in the last 24 hours have 1.1"
    changes = StateChange.objects.count()
    receive(project, "1.1", range(73, 90), cart=4.0)  # users who did not reload
    assert evaluate(project, 90)["/cart"] == "RESOLVED"
    assert StateChange.objects.count() == changes


def test_nothing_is_found_of_a_release_after_it_was_said_to_be_rolled_back(project: Project) -> None:
    announce_release(project.pk, "1.1", at(70), {"rolled_back_at": at(70)})
    assert evaluate(project, 71) == {}
    assert evaluate(project, 72) == {}
    announce_release(project.pk, "1.1", at(73), {"rolled_back_at": None})
    assert evaluate(project, 73)["/cart"] == "CONFIRMED"


def test_a_release_of_which_that_was_wrong_opens_its_alarm_again(project: Project) -> None:
    evaluate(project, 71)
    announce_release(project.pk, "1.1", at(72), {"rolled_back_at": at(72)})
    assert evaluate(project, 72)["/cart"] == "RESOLVED"
    receive(project, "1.1", range(72, 100), cart=2.0)
    announce_release(project.pk, "1.1", at(98), {"rolled_back_at": None})
    assert evaluate(project, 99)["/cart"] == "CONFIRMED"
    back = StateChange.objects.get(page="/cart", cause="back")
    assert (back.was, back.state) == (State.RESOLVED, State.CONFIRMED)


def test_what_was_said_by_mistake_is_undone_also_if_a_newer_release_has_most_views(project: Project) -> None:
    evaluate(project, 71)
    make_release(project, "1.2", 72)
    receive(project, "1.2", range(72, 96), cart=2.0)
    receive(project, "1.1", range(72, 96), cart=2.0, views=5)
    announce_release(project.pk, "1.1", at(95), {"rolled_back_at": at(95)})
    assert evaluate(project, 95)["/cart"] == "RESOLVED"
    announce_release(project.pk, "1.1", at(95), {"rolled_back_at": None})
    assert evaluate(project, 96)["/cart"] == "CONFIRMED"


def test_what_is_taken_back_before_the_release_comes_again_opens_nothing(project: Project) -> None:
    evaluate(project, 71)
    announce_release(project.pk, "1.1", at(72), {"rolled_back_at": at(72)})
    assert evaluate(project, 72)["/cart"] == "RESOLVED"
    receive(project, "1.0", range(72, 120))
    receive(project, "1.1", range(72, 120), cart=2.0, views=1)  # old tabs
    announce_release(project.pk, "1.1", at(119), {"rolled_back_at": None})
    assert evaluate(project, 119)["/cart"] == "RESOLVED"


def test_what_somebody_says_counts_beside_any_number_of_releases_that_are_followed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "MAX_FOLLOWED", 2)
    evaluate(project, 71)
    for number in range(2, 5):
        release = f"1.{number}"
        make_release(project, release, 70 + number)
        state = AlertState.objects.get(release="1.1", page="/cart")
        state.release, state.subject_key = release, Subject(release=release, page="/cart").key
        state.save(force_insert=True)
    announce_release(project.pk, "1.1", at(72), {"rolled_back_at": at(72)})
    assert evaluate(project, 72)["/cart"] == "RESOLVED"


def test_a_rollback_names_no_newer_release_as_the_one_that_users_have_again(project: Project) -> None:
    evaluate(project, 71)
    Group.objects.filter(project=project, release="1.0").update(first_seen_at=START + timedelta(hours=48))
    announce_release(project.pk, "1.1", at(72), {"rolled_back_at": at(72)})
    assert evaluate(project, 72)["/cart"] == "RESOLVED"
    assert StateChange.objects.get(page="/cart", cause="rollback").about_release == ""


def test_what_is_left_of_a_release_that_is_gone_opens_nothing(project: Project) -> None:
    evaluate(project, 71)
    receive(project, "1.0", range(72, 120))
    assert evaluate(project, 96)["/cart"] == "RESOLVED"
    receive(project, "1.1", range(60, 72), cart=2.0, device="mobile-low")  # late ones: another look is due
    assert evaluate(project, 97)["/cart"] == "RESOLVED"
    changes = StateChange.objects.count()
    assert evaluate(project, 110)["/cart"] == "RESOLVED"
    assert StateChange.objects.count() == changes


def test_the_same_release_that_comes_back_opens_the_alarm_again(project: Project) -> None:
    evaluate(project, 71)
    receive(project, "1.0", range(72, 96))
    assert evaluate(project, 95)["/cart"] == "RESOLVED"
    receive(project, "1.1", range(96, 120), cart=2.0)
    assert evaluate(project, 98)["/cart"] == "RESOLVED"
    assert evaluate(project, 110)["/cart"] == "CONFIRMED"
    back = StateChange.objects.filter(page="/cart").latest("id")
    assert (back.cause, back.was, back.began_at) == ("back", State.RESOLVED, at(110))
    entry = next(entry for entry in select_history(project, before=None, most=9) if entry.change.id == back.id)
    assert entry.said.headline.startswith("1.1 is in use again; it made /cart slower: +13")
    receive(project, "1.0", range(120, 144))
    assert evaluate(project, 145)["/cart"] == "RESOLVED"  # and is rolled back once more


def test_a_release_that_just_came_to_all_users_is_not_gone(project: Project) -> None:
    receive(project, "1.0", range(24, 48), device="mobile-low")
    assert evaluate(project, 48)["/cart"] == "CONFIRMED"
    assert evaluate(project, 49)["/cart"] == "CONFIRMED"  # nearly all of the last day had the old one
    assert evaluate(project, 55)["/cart"] == "CONFIRMED"
    assert not StateChange.objects.filter(cause="gone").exists()


def test_few_views_and_quiet_days_end_nothing(project: Project) -> None:
    evaluate(project, 71)
    assert evaluate(project, 120)["/cart"] == "CONFIRMED"  # nobody came for two days
    receive(project, "1.0", range(96, 119), views=2)
    assert evaluate(project, 120)["/cart"] == "CONFIRMED"  # some views of old tabs are no rollback


def test_a_newer_release_that_is_as_slow_does_not_end_it(project: Project) -> None:
    evaluate(project, 71)
    for page in PAGES:
        make_group(project, "1.2", page, first_seen_at=START + timedelta(days=3))
    receive(project, "1.2", range(72, 96), cart=2.0)
    receive(project, "1.0", range(72, 96), views=5)
    assert evaluate(project, 96)["/cart"] == "CONFIRMED"


def test_a_repaired_release_is_compared_with_the_one_that_users_have_again(project: Project) -> None:
    evaluate(project, 71)
    receive(project, "1.0", range(72, 96))
    for page in PAGES:
        make_group(project, "1.2", page, first_seen_at=START + timedelta(hours=90))
    receive(project, "1.2", range(90, 92), cart=2.0, views=12)  # to few users at first, and not repaired
    evaluate(project, 92)
    assert bases_of(project) == {"1.1": "1.0", "1.2": "1.1"}
    assert not AlertState.objects.filter(release="1.2", state__in=(State.SUSPECTED, State.CONFIRMED)).exists()
    assert evaluate(project, 96)["/cart"] == "RESOLVED"  # 1.1 is gone
    assert bases_of(project) == {"1.1": "1.0", "1.2": "1.0"}
    receive(project, "1.2", range(96, 98), cart=2.0)
    evaluate(project, 98)
    assert AlertState.objects.get(release="1.2", page="/cart").state == State.CONFIRMED
    receive(project, "1.1", range(98, 120))
    assert bases_of(project)["1.2"] == "1.0"  # it keeps that base, also if 1.1 comes back
    evaluate(project, 120)
    assert bases_of(project)["1.2"] == "1.0"


def bases_of(project: Project) -> dict[str, str]:
    rows = AlertState.objects.filter(project=project)
    assert len(set(rows.values_list("release", "base_release"))) == len(set(rows.values_list("release")))
    return dict(rows.values_list("release", "base_release"))


def test_a_page_that_few_visit_follows_the_project(project: Project) -> None:
    make_group(project, "1.0", "/rare", first_seen_at=START)
    make_group(project, "1.1", "/rare", first_seen_at=START + timedelta(days=2))
    make_views_of_hours(project, TIMES * 10, release="1.0", page="/rare", starts_at=START)
    times = [us * 4 for us in TIMES * 10]
    make_views_of_hours(project, times, release="1.1", page="/rare", starts_at=START + timedelta(hours=60))
    assert evaluate(project, 71)["/rare"] == "CONFIRMED"
    receive(project, "1.0", range(72, 96))
    assert evaluate(project, 96)["/rare"] == "RESOLVED"
    make_timed_views(project, times[:5], release="1.1", page="/rare", starts_at=START + timedelta(hours=97))
    assert evaluate(project, 97)["/rare"] == "RESOLVED"  # some old tabs
    receive(project, "1.1", range(96, 120), cart=2.0)
    assert evaluate(project, 119)["/rare"] == "CONFIRMED"


def test_views_are_counted_once_an_hour(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate(project, 71)
    counted = []
    really = usage.measure_usage
    monkeypatch.setattr(usage, "measure_usage", lambda *args: counted.append(args) or really(*args))  # type: ignore[func-returns-value]
    evaluate(project, 71)
    assert counted == []
    evaluate(project, 72)
    assert len(counted) == 1


def test_a_made_up_release_does_not_make_another_one_look_gone(project: Project) -> None:
    evaluate(project, 71)
    receive(project, "1.1", range(72, 96), cart=2.0, views=4)
    for page in PAGES:
        make_group(project, "fake", page, first_seen_at=START + timedelta(days=3))
    receive(project, "fake", range(72, 96), cart=2.0, views=60)
    assert evaluate(project, 96)["/cart"] == "CONFIRMED"
