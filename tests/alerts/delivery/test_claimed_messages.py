"""Claims of messages: they end, successes count whenever they come, and projects take turns."""

from datetime import datetime, timedelta

import pytest
from pytest_django import Settings

from alerts.channels import Terms, change_channel, create_channel
from alerts.delivery import sending
from alerts.delivery.gathering import gather_due, make_test, replay
from alerts.delivery.outcomes import Receipt, Undelivered
from alerts.delivery.sending import claim, lease_s, list_due, send_due, settle
from alerts.models import Channel, Message, Notice, StateChange
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.state_changes import NOON, change_state
from tests.builders import make_project

pytestmark = pytest.mark.django_db


def make_channel(project: Project, kind: str = "webhook", **terms: object) -> Channel:
    address = "a@shop.example" if kind == "mail" else "https://hooks.example/"
    channel, _ = create_channel(
        project=project,
        kind=kind,
        name="Team",
        addresses=[address],
        terms=Terms(**terms),  # type: ignore[arg-type]  # each has its own type
        now=NOON,
    )
    return channel


def make_message(project: Project) -> Message:
    change_state(project, State.CONFIRMED)
    gather_due(NOON)
    return Message.objects.get(project=project)


def claim_again(message: Message, at: datetime) -> Message:
    claimed = claim(message.project_id, message.id, at)
    assert claimed is not None
    return claimed[0]


def test_a_success_counts_though_somebody_else_has_the_message() -> None:
    project = make_project("shop")
    channel = make_channel(project)
    message = make_message(project)
    first = claim_again(message, NOON)
    later = NOON + timedelta(seconds=lease_s(channel) + 1)
    second = claim_again(message, later)
    settle(first, channel, later, Receipt(200))
    settle(second, channel, later, Undelivered("no"))
    message.refresh_from_db()
    assert (message.state, message.status, message.problem) == (Message.State.SENT, 200, None)


def test_a_failure_says_nothing_of_a_later_attempt() -> None:
    project = make_project("shop")
    channel = make_channel(project)
    message = make_message(project)
    first = claim_again(message, NOON)
    later = NOON + timedelta(seconds=lease_s(channel) + 1)
    claim_again(message, later)
    settle(first, channel, later, Undelivered("no", is_final=True))
    message.refresh_from_db()
    assert (message.state, message.problem) == (Message.State.WAITING, None)
    assert message.claimed_until is not None


def test_a_message_whose_senders_always_end_is_given_up(settings: Settings) -> None:
    settings.ALERTS_TRIES = 3
    project = make_project("shop")
    channel = make_channel(project)
    message = make_message(project)
    at = NOON
    for _ in range(3):
        claim_again(message, at)
        at += timedelta(seconds=lease_s(channel) + 1)
    assert claim(project.pk, message.id, at) is None
    message.refresh_from_db()
    assert message.state == Message.State.FAILED
    assert "3 attempts" in (message.problem or "")


def test_a_lease_is_longer_than_an_attempt(settings: Settings) -> None:
    project = make_project("shop")
    assert lease_s(make_channel(project)) > settings.ALERTS_SEND_S
    assert lease_s(make_channel(project, "mail")) > settings.ALERTS_MAIL_S


def test_a_lease_begins_with_the_attempt_and_not_with_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project("shop")
    make_channel(project)
    message = make_message(project)
    took_s = iter([0.0, 100.0])
    monkeypatch.setattr("alerts.delivery.sending.time.monotonic", lambda: next(took_s, 100.0))

    def look(*_: object) -> None:
        message.refresh_from_db()
        assert message.claimed_until is not None
        assert message.claimed_until > NOON + timedelta(seconds=100)
        raise Undelivered("no")

    monkeypatch.setattr(sending, "hand_over", look)
    assert send_due(NOON) == 0
    message.refresh_from_db()
    assert message.attempts == 1


def test_projects_take_turns() -> None:
    crowded, other = make_project("crowded"), make_project("other")
    for _ in range(5):
        make_test(make_channel(crowded), NOON)
    make_test(make_channel(other), NOON + timedelta(seconds=1))
    later = NOON + timedelta(seconds=2)
    assert other.pk in [project_id for project_id, *_ in list_due(later)[:2]]


def test_failed_attempts_are_turns_that_a_project_had() -> None:
    """One attempt may be all that a turn of maintenance has time for."""
    crowded, other = make_project("crowded"), make_project("other")
    for _ in range(5):
        make_test(make_channel(crowded), NOON)
    project_id, message_id, _ = list_due(NOON)[0]
    assert claim(project_id, message_id, NOON) is not None
    make_test(make_channel(other), NOON)
    for _ in range(10):  # those of one turn are mixed by chance
        assert list_due(NOON)[0][0] == other.pk


def test_a_message_that_cannot_be_written_does_not_hold_up_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = make_project("bad"), make_project("good")
    for project in (bad, good):
        make_test(make_channel(project), NOON)

    def hand_over(channel: Channel, *_: object) -> Receipt:
        if channel.project_id == bad.pk:
            raise ZeroDivisionError("secret")
        return Receipt(200)

    monkeypatch.setattr(sending, "hand_over", hand_over)
    assert send_due(NOON) == 1
    message = Message.objects.get(project=bad)
    assert (message.tries, message.problem) == (
        1,
        "It could not be sent: ZeroDivisionError. The server's log has more.",
    )
    assert message.due_at > NOON
    assert any(record.exc_info for record in caplog.records)


def test_a_change_that_cannot_be_put_into_words_does_not_hold_up_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sending, "hand_over", lambda *_: Receipt(200))
    bad, good = make_project("bad"), make_project("good")
    for project in (bad, good):
        make_channel(project)
        change_state(project, State.CONFIRMED)
    budget = {"kind": "budget", "name": "Script", "question": {"measure": "of a later version"}}
    StateChange.objects.filter(project=bad).update(base_release="", asked=budget)
    assert send_due(NOON) == 1
    assert Message.objects.get().project_id == good.pk
    assert Notice.objects.get(project=bad).message_id is None  # it waits for a server that knows the word
    assert any(record.exc_info for record in caplog.records)


def test_what_waits_for_a_channel_that_was_switched_off_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "hand_over", lambda *_: Receipt(200))
    project = make_project("shop")
    channel = make_channel(project)
    message = make_message(project)
    change_channel(channel, name="Off", terms=Terms(is_on=False))
    assert send_due(NOON) == 0
    message.refresh_from_db()
    assert (message.state, message.problem) == (Message.State.FAILED, "The channel is switched off.")
    make_test(channel, NOON)
    assert send_due(NOON) == 1  # somebody asked for it
    assert replay(project.pk, message.id, NOON)
    assert send_due(NOON) == 1


def test_what_was_gathered_before_quiet_hours_is_not_sent_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "hand_over", lambda *_: Receipt(200))
    project = make_project("shop")
    channel = make_channel(project, quiet_from=NOON.hour * 60 + 1, quiet_to=NOON.hour * 60 + 30)
    message = make_message(project)
    quiet = NOON + timedelta(minutes=2)
    assert send_due(quiet) == 0
    message.refresh_from_db()
    assert (message.attempts, message.due_at) == (0, NOON + timedelta(minutes=30))
    make_test(channel, quiet)
    assert send_due(quiet) == 1
    assert send_due(message.due_at) == 1
    assert replay(project.pk, message.id, quiet)
    assert send_due(quiet) == 1
