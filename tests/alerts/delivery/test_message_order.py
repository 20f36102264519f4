"""What is said of one subject arrives in its order; a message that waits holds up nothing else."""

from datetime import timedelta

import pytest

from alerts.channels import Terms, create_channel
from alerts.delivery import sending
from alerts.delivery.bodies import Letter
from alerts.delivery.gathering import gather_due, make_test, replay
from alerts.delivery.outcomes import Receipt, Undelivered
from alerts.delivery.sending import claim, send_due
from alerts.models import Channel, Message
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.state_changes import NOON, change_state
from tests.builders import make_project

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(seconds=5)


class Receiver:
    """Keeps what each letter says, and refuses while it is told to."""

    def __init__(self) -> None:
        self.got: list[str] = []
        self.refuses = False

    def take(self, _channel: Channel, _sealed: object, letter: Letter) -> Receipt:
        if self.refuses:
            raise Undelivered("no")
        self.got.append(" ".join(State(entry.change.state).name for entry in letter.changes) or "test")
        return Receipt(200)


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Receiver:
    made = Receiver()
    monkeypatch.setattr(sending, "hand_over", made.take)
    return made


@pytest.fixture
def project(receiver: Receiver) -> Project:
    """A shop with a message that waits for its second attempt: a page is slower."""
    made = make_project("shop")
    address = ["https://hooks.example/"]
    create_channel(project=made, kind="webhook", name="Team", addresses=address, terms=Terms(), now=NOON)
    change_state(made, State.CONFIRMED)
    receiver.refuses = True
    assert send_due(NOON) == 0
    receiver.refuses = False
    return made


def test_the_end_waits_for_the_message_of_the_beginning(project: Project, receiver: Receiver) -> None:
    change_state(project, State.RESOLVED, at=LATER)
    assert send_due(LATER) == 0
    first, last = Message.objects.order_by("created_at")
    assert last.due_at == first.due_at
    assert (last.attempts, last.state) == (0, Message.State.WAITING)
    assert send_due(first.due_at) == 2
    assert receiver.got == ["CONFIRMED", "RESOLVED"]


def test_other_subjects_tests_and_replays_do_not_wait(project: Project, receiver: Receiver) -> None:
    change_state(project, State.CONFIRMED, page="/home", at=LATER)
    make_test(Channel.objects.get(), LATER)
    assert send_due(LATER) == 2
    assert sorted(receiver.got) == ["CONFIRMED", "test"]
    change_state(project, State.RESOLVED, at=LATER)
    assert send_due(LATER) == 0
    last = Message.objects.latest("created_at", "due_at")
    Message.objects.filter(id=last.id).update(state=Message.State.FAILED, attempts=1, tries=1)
    assert replay(project.pk, last.id, LATER)
    assert send_due(LATER) == 1


def test_what_was_given_up_holds_up_nothing(project: Project, receiver: Receiver) -> None:
    Message.objects.update(state=Message.State.FAILED)
    change_state(project, State.RESOLVED, at=LATER)
    assert send_due(LATER) == 1
    assert receiver.got == ["RESOLVED"]


def test_the_end_waits_while_somebody_sends_the_beginning(project: Project, receiver: Receiver) -> None:
    first = Message.objects.get()
    assert claim(project.pk, first.id, first.due_at) is not None
    first.refresh_from_db()
    assert first.claimed_until is not None
    change_state(project, State.RESOLVED, at=LATER)
    assert send_due(first.due_at) == 0
    assert send_due(first.claimed_until + timedelta(seconds=1)) == 2
    assert receiver.got == ["CONFIRMED", "RESOLVED"]


def test_the_end_waits_though_nobody_has_taken_the_beginning_yet(project: Project) -> None:
    """Two workers list what is due. The second one may come to the end before the first one to the beginning."""
    first = Message.objects.get()
    change_state(project, State.RESOLVED, at=LATER)
    gather_due(LATER)
    last = Message.objects.exclude(id=first.id).get()
    assert claim(project.pk, last.id, first.due_at) is None
    assert claim(project.pk, first.id, first.due_at) is not None


def test_another_channel_does_not_wait(project: Project, receiver: Receiver) -> None:
    address = ["https://other.example/"]
    create_channel(project=project, kind="webhook", name="B", addresses=address, terms=Terms(), now=NOON)
    change_state(project, State.RESOLVED, at=LATER)
    assert send_due(LATER) == 1
    assert receiver.got == ["RESOLVED"]
