"""The outbox: one notice for each change and channel, when it is due, and what becomes one message."""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from django.core.exceptions import ValidationError
from pytest_django import Settings

from alerts.channels import Terms, change_channel, create_channel, delete_channel
from alerts.delivery.gathering import gather_due, list_due_channels
from alerts.models import AlertRule, AlertState, Channel, Message, Notice
from alerts.outbox import leave_quiet
from alerts.rules import accept
from alerts.sealing import SealBroken, open_seal
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.state_changes import NOON, change_state
from tests.builders import make_project

pytestmark = pytest.mark.django_db
# On which clocks change in one of the zones below, each zone has its own.
DAYS_OF_OTHER_CLOCKS = [(3, 8), (3, 29), (4, 5), (10, 4), (10, 25), (11, 1)]
HOOK = ["https://hooks.example/services/secret-path"]


@pytest.fixture
def project() -> Project:
    return make_project("shop")


def make_channel(project: Project, **terms: object) -> Channel:
    kinds = {"kind": "slack", "name": "Team", "addresses": HOOK}
    channel, _ = create_channel(project=project, terms=Terms(**terms), now=NOON, **kinds)  # type: ignore[arg-type]
    return channel


def test_each_channel_has_one_notice_of_a_change_that_is_worth_it(project: Project) -> None:
    every, sure = make_channel(project, tells_suspected=True), make_channel(project)
    make_channel(project, is_on=False)
    other = make_project("other")
    make_channel(other)
    for state in (State.OK, State.SUSPECTED, State.SUSPECTED, State.CONFIRMED, State.CONFIRMED, State.RESOLVED):
        change_state(project, state)
    counts = {
        channel.id: Notice.objects.filter(channel_id=channel.id, project=project).count() for channel in (every, sure)
    }
    assert counts == {every.id: 3, sure.id: 2}
    assert Notice.objects.count() == 5


def test_changes_of_one_release_are_one_message_and_of_another_are_not(project: Project) -> None:
    make_channel(project)
    for page in ("/cart", "/home", None):
        change_state(project, State.CONFIRMED, page=page)
    change_state(project, State.CONFIRMED, release="1.2")
    assert gather_due(NOON) == 2
    assert sorted(len(message.change_ids) for message in Message.objects.all()) == [1, 3]
    assert gather_due(NOON) == 0
    assert list_due_channels(NOON) == []
    assert {notice.message_id for notice in Notice.objects.all()} == {message.id for message in Message.objects.all()}


def test_a_digest_gathers_what_comes_within_its_hours(project: Project, settings: Settings) -> None:
    settings.ALERTS_DIGEST_HOURS = 24
    make_channel(project, is_digest=True)
    change_state(project, State.CONFIRMED, page="/cart", at=NOON)
    change_state(project, State.CONFIRMED, page="/home", at=NOON + timedelta(hours=20))
    assert gather_due(NOON + timedelta(hours=23)) == 0
    assert gather_due(NOON + timedelta(hours=24)) == 1
    assert len(Message.objects.get().change_ids) == 2


@pytest.mark.parametrize(
    ("quiet", "at", "due"),
    [
        ((22 * 60, 7 * 60, "UTC"), "21:59", "21:59"),
        ((22 * 60, 7 * 60, "UTC"), "22:00", "31:00"),
        ((22 * 60, 7 * 60, "UTC"), "03:30", "07:00"),
        ((22 * 60, 7 * 60, "UTC"), "07:00", "07:00"),
        ((1 * 60, 5 * 60 + 30, "UTC"), "04:00", "05:30"),
        ((22 * 60, 7 * 60, "Europe/Berlin"), "21:30", "30:00"),  # an hour ahead of UTC in winter
        ((22 * 60, 7 * 60, "Europe/Berlin"), "20:30", "20:30"),
    ],
)
def test_quiet_hours_put_a_notice_off_to_their_end(quiet: tuple[int, int, str], at: str, due: str) -> None:
    channel = Channel(quiet_from=quiet[0], quiet_to=quiet[1], time_zone=quiet[2])
    midnight = datetime(2026, 11, 23, tzinfo=UTC)

    def moment(text: str) -> datetime:
        hours, minutes = text.split(":")
        return midnight + timedelta(hours=int(hours), minutes=int(minutes))

    assert leave_quiet(channel, moment(at)) == moment(due)


def test_what_an_alert_finds_of_yesterday_is_not_sent_in_quiet_hours(project: Project) -> None:
    make_channel(project, quiet_from=2 * 60, quiet_to=7 * 60)
    midnight = datetime(2026, 11, 23, tzinfo=UTC)
    change_state(project, State.CONFIRMED, at=midnight)  # the end of a day, which is judged hours later
    assert gather_due(midnight + timedelta(hours=3)) == 0
    assert Notice.objects.get().due_at == midnight + timedelta(hours=7)
    assert gather_due(midnight + timedelta(hours=7)) == 1


def test_quiet_hours_end_at_the_same_time_when_the_clocks_change() -> None:
    channel = Channel(quiet_from=22 * 60, quiet_to=7 * 60, time_zone="Europe/Berlin")
    evening = datetime(2026, 10, 24, 21, 0, tzinfo=UTC)  # 23:00; in that night an hour is repeated
    assert leave_quiet(channel, evening) == datetime(2026, 10, 25, 6, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "end"),
    [
        ("2026-10-24 23:00", "2026-10-25 00:30"),  # 01:00 in summer: the first half past two
        ("2026-10-25 00:20", "2026-10-25 00:30"),
        ("2026-10-25 00:40", "2026-10-25 00:40"),  # 02:40
        ("2026-10-25 01:10", "2026-10-25 01:30"),  # 02:10 again, in winter
    ],
)
def test_quiet_hours_end_after_now_in_the_hour_that_is_repeated(at: str, end: str) -> None:
    channel = Channel(quiet_from=22 * 60, quiet_to=2 * 60 + 30, time_zone="Europe/Berlin")
    moment = datetime.fromisoformat(f"{at}+00:00")
    assert leave_quiet(channel, moment) == datetime.fromisoformat(f"{end}+00:00")


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "UTC"])
@pytest.mark.parametrize("quiet", [(22 * 60, 150), (60, 120), (90, 150), (0, 1_439)])
def test_quiet_hours_always_end_later_and_outside_them(zone: str, quiet: tuple[int, int]) -> None:
    channel = Channel(quiet_from=quiet[0], quiet_to=quiet[1], time_zone=zone)
    nights = [datetime(2026, month, day, tzinfo=UTC) for month, day in DAYS_OF_OTHER_CLOCKS]
    for night, minutes in product(nights, range(-12 * 60, 36 * 60, 10)):
        at = night + timedelta(minutes=minutes)
        end = leave_quiet(channel, at)
        assert at <= end <= at + timedelta(hours=26)
        assert leave_quiet(channel, end) == end


def test_what_waits_for_a_channel_that_is_gone_or_off_goes_too(project: Project) -> None:
    gone, off = make_channel(project), make_channel(project)
    change_state(project, State.CONFIRMED)
    delete_channel(gone)
    change_channel(off, name="Off", terms=Terms(is_on=False))
    assert Notice.objects.count() == 1
    assert gather_due(NOON) == 0
    assert Notice.objects.count() == Message.objects.count() == 0


def test_of_mail_addresses_only_a_letter_and_the_host_is_kept_in_clear(project: Project) -> None:
    people = ["anna@shop.example", "o'neil+x@shop.example"]
    channel, _ = create_channel(project=project, kind="mail", name="Mail", addresses=people, terms=Terms(), now=NOON)
    assert channel.hint == "a…@shop.example, o…@shop.example"
    assert open_seal(channel.sealed).addresses == tuple(people)
    change_channel(channel, name="Mail", terms=Terms(), addresses=["ben@other.example"])
    assert channel.hint == "b…@other.example"


def test_an_address_is_encrypted_and_only_its_host_is_shown(project: Project, settings: Settings) -> None:
    channel = make_channel(project)
    assert channel.hint == "https://hooks.example/…"
    assert b"secret-path" not in channel.sealed
    assert open_seal(channel.sealed).addresses == tuple(HOOK)
    settings.SECRET_KEY = "another"
    with pytest.raises(SealBroken):
        open_seal(channel.sealed)
    change_channel(channel, name="Team", terms=Terms(), addresses=["https://other.example/"])
    assert open_seal(channel.sealed).addresses == ("https://other.example/",)


def test_a_webhook_has_a_secret_that_can_be_renewed(project: Project) -> None:
    channel, secret = create_channel(
        project=project, kind="webhook", name="Ours", addresses=HOOK, terms=Terms(), now=NOON
    )
    assert secret.startswith("whsec_")
    assert change_channel(channel, name="Ours", terms=Terms()) == ""
    assert open_seal(channel.sealed).secret == secret
    renewed = change_channel(channel, name="Ours", terms=Terms(), renews_secret=True)
    assert renewed not in ("", secret)
    assert open_seal(channel.sealed).addresses == tuple(HOOK)


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"kind": "pigeon"}, "kind"),
        ({"name": " "}, "name"),
        ({"addresses": []}, "addresses"),
        ({"addresses": ["ftp://hooks.example/"]}, "addresses"),
        ({"addresses": ["https://hooks.example:22/"]}, "addresses"),
        ({"addresses": ["http://127.0.0.1/"]}, "addresses"),
        ({"addresses": ["http://[::ffff:10.0.0.1]/"]}, "addresses"),
        ({"addresses": ["http://169.254.169.254/latest"]}, "addresses"),
        ({"addresses": [*HOOK, "https://two.example/"]}, "addresses"),
        ({"kind": "mail", "addresses": ["a@shop.example", "b"]}, "addresses"),
        ({"kind": "mail", "addresses": ["a@shop.example\nBcc: b@shop.example"]}, "addresses"),
        ({"terms": Terms(quiet_from=60)}, "quiet_to"),
        ({"terms": Terms(quiet_from=60, quiet_to=60)}, "quiet_to"),
        ({"terms": Terms(quiet_from=1440, quiet_to=60)}, "quiet_from"),
        ({"terms": Terms(time_zone="../etc/passwd")}, "time_zone"),
    ],
)
def test_a_wrong_channel_is_refused_by_its_field(project: Project, fields: dict[str, object], wrong: str) -> None:
    right = {"kind": "slack", "name": "Team", "addresses": HOOK, "terms": Terms()}
    with pytest.raises(ValidationError) as error:
        create_channel(project=project, now=NOON, **(right | fields))  # type: ignore[arg-type]
    assert list(error.value.message_dict) == [wrong]


def test_a_project_has_a_bound_of_channels(project: Project, settings: Settings) -> None:
    settings.ALERTS_MAX_CHANNELS = 1
    make_channel(project)
    with pytest.raises(ValidationError):
        make_channel(project)


def test_an_accepted_suspicion_is_sent_only_to_those_who_heard_of_it(project: Project) -> None:
    every, sure = make_channel(project, tells_suspected=True), make_channel(project)
    for page, state in (("/cart", State.SUSPECTED), ("/home", State.CONFIRMED)):
        change_state(project, state, page=page)
    for row in AlertState.objects.order_by("state"):
        assert accept(AlertRule.objects.get(), bytes(row.subject_key), NOON)
    counts = {channel.id: Notice.objects.filter(channel_id=channel.id).count() for channel in (every, sure)}
    assert counts == {every.id: 4, sure.id: 2}
