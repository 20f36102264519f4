"""The release alert: what it says of releases, only at looks, once, and what ends an alarm."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from aggregate.label_models import ReleaseScript
from aggregate.maintenance.old_states import expire_alerts
from aggregate.models import Cell, VerdictLook
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.verdict.verdict import select_verdict
from alerts import evaluating
from alerts.evaluating import evaluate_due, evaluate_one
from alerts.models import AlertRule, AlertState, StateChange
from alerts.reading import select_history
from alerts.rules import RELEASE_ALERT_ID, accept
from ingest.models import Group
from profcore.alerts.states import State
from projects.models import Project
from projects.releases import announce_release
from tests.alerts import rolled_back
from tests.builders import MONDAY, make_group, make_project, make_timed_views, make_views_of_hours

pytestmark = pytest.mark.django_db
TIMES = [10_000, 12_000, 14_000, 16_000] * 25


@pytest.fixture
def project() -> Project:
    """The old release has 400 views of two pages each."""
    made = make_project("shop")
    for page in ("/cart", "/home"):
        make_group(made, "1.0", page, first_seen_at=timezone.now() - timedelta(days=20))
        make_views_of_hours(made, TIMES * 4, starts_at=MONDAY, release="1.0", page=page)
    return made


def receive(project: Project, release: str, *, cart: float = 1.0, home: float = 1.0, times: int = 1) -> None:
    """100 views of each page in a release, so many times as slow."""
    for page, factor in (("/cart", cart), ("/home", home)):
        make_group(project, release, page, first_seen_at=timezone.now())
        starts_at = MONDAY + timedelta(hours=Cell.objects.count())
        times_us = [round(us * factor) for us in TIMES * times]
        make_views_of_hours(project, times_us, release=release, page=page, starts_at=starts_at)


def alert(project: Project) -> dict[str, str]:
    """Evaluates, and returns the states of the newest watched release by page."""
    AlertRule.objects.filter(project=project).update(due_at=timezone.now())
    evaluate_due(timezone.now())
    return states(project)


def states(project: Project, release: str | None = None) -> dict[str, str]:
    rows = AlertState.objects.filter(project=project)
    newest = release or max((row.release for row in rows), default="")
    return {row.page or "all": State(row.state).name for row in rows if row.release == newest}


def test_a_release_like_the_one_before_is_ok(project: Project) -> None:
    assert alert(project) == {}  # one release alone
    receive(project, "1.1")
    assert alert(project) == {"/cart": "OK", "/home": "OK", "all": "OK"}
    assert {(row.was, row.state) for row in StateChange.objects.all()} == {(State.UNKNOWN, State.OK)}


def test_too_few_views_say_nothing(project: Project) -> None:
    make_group(project, "1.1", "/cart", first_seen_at=timezone.now())
    make_timed_views(project, [90_000] * 19, release="1.1", page="/cart")
    assert alert(project) == {}
    assert VerdictLook.objects.count() == 0


def test_a_slower_page_is_confirmed_and_no_other(project: Project) -> None:
    receive(project, "1.1", cart=2.0)
    receive(project, "1.1", cart=2.0)
    by_page = alert(project)
    assert (by_page["/cart"], by_page["/home"]) == ("CONFIRMED", "OK")
    row = StateChange.objects.get(page="/cart")
    assert (row.was, row.look, row.base_release, row.base_views, row.views) == (State.UNKNOWN, 1, "1.0", 400, 200)
    assert row.value == pytest.approx(13.0)
    assert row.low is not None and row.high is not None and row.low < 13.0 < row.high  # noqa: PT018
    assert row.began_at == row.at


def test_a_small_change_is_suspected_first_and_confirmed_by_more_views(project: Project) -> None:
    met = set()
    for _ in range(8):
        receive(project, "1.1", cart=1.11)
        met.add(alert(project)["/cart"])
    assert "SUSPECTED" in met
    confirmed = StateChange.objects.get(page="/cart", state=State.CONFIRMED)
    suspected = StateChange.objects.get(page="/cart", state=State.SUSPECTED)
    assert confirmed.began_at == suspected.at
    assert confirmed.look is not None and suspected.look is not None and confirmed.look > suspected.look  # noqa: PT018


def test_nothing_is_judged_between_looks(project: Project) -> None:
    receive(project, "1.1")
    alert(project)
    make_timed_views(project, [50_000] * 5, release="1.1", page="/cart", starts_at=MONDAY + timedelta(days=9))
    seen = list(AlertState.objects.order_by("subject_key").values_list("look", "seen_at"))
    alert(project)
    assert list(AlertState.objects.order_by("subject_key").values_list("look", "seen_at")) == seen
    assert VerdictLook.objects.count() == 1


def test_a_reader_sees_the_look_that_the_alert_took(project: Project) -> None:
    receive(project, "1.1", cart=2.0, times=2)
    assert alert(project)["/cart"] == "CONFIRMED"
    sides = (Slice(project_id=project.pk, releases=(release,)) for release in ("1.0", "1.1"))
    look = select_verdict(*sides, now=timezone.now()).look
    kept = VerdictLook.objects.get()
    assert look is not None
    assert (look.number, look.bound, look.is_new) == (kept.number, kept.bound, False)


def test_a_faster_release_ends_an_alarm_and_says_so(project: Project) -> None:
    receive(project, "1.1", cart=2.0, times=4)
    assert alert(project)["/cart"] == "CONFIRMED"
    receive(project, "1.2", times=4)
    alert(project)
    assert states(project, "1.1")["/cart"] == "RESOLVED"
    end = StateChange.objects.get(page="/cart", state=State.RESOLVED)
    assert (end.cause, end.about_release, end.release) == ("release", "1.2", "1.1")
    entry = next(entry for entry in select_history(project, before=None, most=9) if entry.change.id == end.id)
    assert entry.said.headline == "1.2 made /cart faster again after 1.1"
    assert entry.said.how_much.startswith("it was +")
    assert "/compare/?base_release=1.1&head_release=1.2&page=%2Fcart" in entry.links.slice


def test_what_a_newer_release_ended_stays_over_until_that_one_is_rolled_back(project: Project) -> None:
    receive(project, "1.1", cart=2.0, times=4)
    alert(project)
    receive(project, "1.2", times=4)
    alert(project)
    receive(project, "1.1", cart=2.0, times=8)  # another look at the old release, which is as slow as ever
    alert(project)
    looked = AlertState.objects.get(release="1.1", page="/home").look
    assert looked == 2
    history = StateChange.objects.filter(release="1.1", page="/cart").order_by("id")
    assert list(history.values_list("cause", flat=True)) == ["look", "release"]
    announce_release(project.pk, "1.2", timezone.now(), {"rolled_back_at": timezone.now()})
    receive(project, "1.1", cart=2.0, times=16)
    alert(project)
    assert states(project, "1.1")["/cart"] == "CONFIRMED"  # users have it again


def test_an_older_release_that_was_faster_ends_nothing(project: Project) -> None:
    receive(project, "1.1", cart=0.5, times=4)
    receive(project, "1.2", cart=1.0, times=4)
    assert alert(project)["/cart"] == "CONFIRMED"
    receive(project, "1.1", cart=0.5, times=8)  # old tabs: another look at the release before
    assert alert(project)["/cart"] == "CONFIRMED"
    assert AlertState.objects.get(release="1.1", page="/cart").look == 2


def test_a_release_that_is_only_a_little_faster_ends_nothing(project: Project) -> None:
    receive(project, "1.1", cart=3.0, times=4)
    alert(project)
    receive(project, "1.2", cart=2.4, times=4)
    alert(project)
    assert states(project, "1.1")["/cart"] == "CONFIRMED"


def test_a_person_can_accept_a_slowdown(project: Project) -> None:
    receive(project, "1.1", cart=2.0, times=4)
    alert(project)
    row = AlertState.objects.get(page="/cart")
    change = accept(AlertRule.objects.get(id=RELEASE_ALERT_ID), row.subject_key, timezone.now())
    assert change is not None
    assert (change.cause, State(change.state)) == ("person", State.RESOLVED)
    assert accept(AlertRule.objects.get(id=RELEASE_ALERT_ID), row.subject_key, timezone.now()) is None


def test_what_was_accepted_is_not_reported_again_by_the_next_looks(project: Project) -> None:
    receive(project, "1.1", cart=2.0)
    assert alert(project)["/cart"] == "CONFIRMED"
    row = AlertState.objects.get(page="/cart")
    accept(AlertRule.objects.get(id=RELEASE_ALERT_ID), row.subject_key, timezone.now())
    for _ in range(2):
        receive(project, "1.1", cart=2.0, times=2)
        assert alert(project)["/cart"] == "RESOLVED"
    changes = list(StateChange.objects.filter(page="/cart").order_by("id").values_list("cause", flat=True))
    assert changes == ["look", "person"]
    kept = AlertState.objects.get(page="/cart")
    assert (kept.value, kept.look) == (row.value, AlertState.objects.get(page="/home").look)
    receive(project, "1.1", cart=8.0, times=12)
    assert alert(project)["/cart"] == "CONFIRMED"  # it is far slower now


def test_a_release_keeps_the_base_that_it_was_first_compared_with(project: Project) -> None:
    make_group(project, "1.0.1", "/cart", first_seen_at=timezone.now() - timedelta(days=2))
    make_timed_views(project, TIMES[:8], release="1.0.1", page="/cart")
    receive(project, "1.1")
    alert(project)
    make_timed_views(project, TIMES, release="1.0.1", page="/cart", starts_at=MONDAY + timedelta(days=3))
    receive(project, "1.1")
    alert(project)
    assert set(AlertState.objects.filter(release="1.1").values_list("base_release", flat=True)) == {"1.0"}


def test_old_releases_and_others_are_not_watched(project: Project) -> None:
    receive(project, "1.1", cart=2.0)
    Group.objects.filter(release="1.1").update(first_seen_at=timezone.now() - timedelta(days=40))
    Group.objects.filter(release="1.0").update(first_seen_at=timezone.now() - timedelta(days=60))
    receive(project, "(other)", cart=3.0)
    assert alert(project) == {}


def test_a_alert_that_is_off_or_not_due_is_left_alone(project: Project) -> None:
    now = timezone.now()
    assert evaluate_due(now) == 1
    assert evaluate_due(now) == 0
    AlertRule.objects.update(is_on=False, due_at=now)
    assert evaluate_due(now) == 0


def test_a_alert_that_fails_says_why_and_leaves_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    receive(project, "1.1", cart=2.0)

    def fail(alert: AlertRule, now: object) -> None:
        evaluating_really(alert, timezone.now())
        raise ValueError("no such thing")

    evaluating_really = evaluating.EVALUATE[AlertRule.Kind.RELEASE]
    monkeypatch.setattr(evaluating, "EVALUATE", {AlertRule.Kind.RELEASE: fail})
    alert(project)
    assert AlertState.objects.count() == VerdictLook.objects.count() == StateChange.objects.count() == 0
    assert AlertRule.objects.get().problem == "ValueError: no such thing"
    monkeypatch.undo()
    assert alert(project)["/cart"] != "OK"
    assert AlertRule.objects.get().problem is None


def test_projects_that_are_being_deleted_are_not_watched(project: Project) -> None:
    evaluate_due(timezone.now())
    Project.objects.update(deletion_started_at=timezone.now())
    AlertRule.objects.update(due_at=timezone.now())
    assert not evaluate_one(project.pk, RELEASE_ALERT_ID, timezone.now())


def test_old_history_goes_and_what_is_open_stays(project: Project, settings: Settings) -> None:
    receive(project, "1.1", cart=2.0, times=4)
    alert(project)
    later = timezone.now() + timedelta(days=100)
    expire_alerts(project.pk, later, cells_before=later - timedelta(days=400))
    assert states(project) == {"/cart": "CONFIRMED"}
    assert StateChange.objects.count() == 2
    settings.ALERTS_MAX_CHANGES = 1
    newest = max(StateChange.objects.values_list("id", flat=True))
    expire_alerts(project.pk, later, cells_before=later - timedelta(days=400))
    assert list(StateChange.objects.values_list("id", flat=True)) == [newest]
    expire_alerts(project.pk, later, cells_before=later)
    assert StateChange.objects.count() == AlertState.objects.count() == 0


@pytest.mark.parametrize(("hour", "reached"), [(50, 0.1), (50 + 7 * 24, 0.5), (50 + 14 * 24, 1.0)])
def test_how_much_of_the_plan_is_over_is_that_of_the_evaluation(hour: int, reached: float) -> None:
    project = rolled_back.make_shop()
    rolled_back.receive(project, "1.1", range(48, 50), views=48)
    rolled_back.look(project, hour)
    look = VerdictLook.objects.get()
    assert look.reached == pytest.approx(reached)
    assert look.looked_at == rolled_back.at(hour)


def test_a_look_waits_for_the_names_of_functions_but_not_for_long(project: Project) -> None:
    receive(project, "1.1", cart=2.0)
    now = timezone.now()
    script = ReleaseScript.objects.create(
        project=project,
        id=1,
        release="1.1",
        uri="https://shop.example/a.js",
        file="a.js",
        is_shared=False,
        map_id=1,
        pending_at=now,
        uploaded_at=now,
    )
    assert alert(project) == {}
    ReleaseScript.objects.filter(id=script.id).update(pending_at=now - timedelta(minutes=11))
    assert alert(project)["/cart"] == "CONFIRMED"
