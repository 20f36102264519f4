"""Messages reach a web server and a mail server that run in processes of their own, or are tried again."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import timedelta
from email import message_from_string
from email.policy import default
from pathlib import Path

import pytest
from pytest_django import Settings

from alerts.channels import Terms, create_channel
from alerts.delivery import sending
from alerts.delivery.gathering import gather_due, make_test, replay
from alerts.delivery.receivers import post
from alerts.delivery.sending import claim, find_wait_s, lease_s, send_due, send_one
from alerts.models import Channel, Message
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.delivery.receivers import Kept, closed_port, mail_receiver, web_receiver
from tests.alerts.delivery.slow_receivers import slow_receiver, speak_smtp
from tests.alerts.state_changes import NOON, change_state
from tests.builders import make_project

pytestmark = [pytest.mark.django_db, pytest.mark.slow(15)]
Hook = tuple[str, Kept]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hook]:
    with web_receiver(tmp_path_factory.mktemp("web")) as started:
        yield started


@pytest.fixture
def hook(server: Hook, settings: Settings) -> Hook:
    """The web server, of which all is forgotten that arrived before."""
    settings.WEBHOOK_ALLOW_PRIVATE = ["127.0.0.0/8"]
    settings.WEBHOOK_PORTS = [int(server[0].split(":")[2].split("/")[0])]
    settings.ADDRESS = "https://fieldflame.example"
    server[1].arrived.write_text("")
    server[1].answer_with()
    return server


@pytest.fixture
def project() -> Project:
    return make_project("shop", name="Shop")


def make_channel(project: Project, address: str, kind: str = "webhook") -> str:
    _, secret = create_channel(project=project, kind=kind, name="Team", addresses=[address], terms=Terms(), now=NOON)
    return secret


def verify(secret: str, headers: dict[str, str], body: str) -> bool:
    """As the specification of standard webhooks says, written anew."""
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}"
    key = base64.b64decode(secret.split("_", 1)[1])
    signature = base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()
    return headers["webhook-signature"] == f"v1,{signature}"


def test_a_webhook_is_signed_and_says_all(project: Project, hook: Hook) -> None:
    secret = make_channel(project, hook[0])
    change_state(project, State.CONFIRMED)
    assert send_due(NOON) == 1
    (got,) = hook[1].list()
    assert got["path"] == "/hook?key=s3cret"
    assert verify(secret, got["headers"], got["body"])
    assert not verify(secret, got["headers"], got["body"] + " ")
    body = json.loads(got["body"])
    message = Message.objects.get()
    assert (body["id"], got["headers"]["webhook-id"]) == (str(message.id), str(message.id))
    (change,) = body["data"]["changes"]
    expected = {"state": "confirmed", "page": "/cart", "release": "1.1", "value": 13.04, "ci95": [9.8, 16.2]}
    assert change.items() >= expected.items()
    address = "https://fieldflame.example/projects/shop/"
    assert change["url"] == f"{address}compare/?base_release=1.0&head_release=1.1&page=%2Fcart"
    assert change["profile_url"] == f"{address}alerts/changes/{change['id']}/profile/"
    assert (message.state, message.status, message.attempts) == (Message.State.SENT, 200, 1)
    assert send_due(NOON) == 0


def test_slack_and_teams_get_bodies_of_their_own(project: Project, hook: Hook, settings: Settings) -> None:
    settings.ADDRESS = "https://fieldflame.example"
    for kind in ("slack", "teams"):
        make_channel(project, hook[0], kind)
    change_state(project, State.CONFIRMED, page="/a<b>*c*")
    assert send_due(NOON) == 2
    slack, teams = sorted((json.loads(got["body"]) for got in hook[1].list()), key=lambda body: "attachments" in body)
    assert slack["text"] == "Shop: 1.1 made /a&lt;b&gt;*c* slower: +13 ms per view"
    text = slack["blocks"][1]["text"]["text"]
    for part in (
        "Where: ",
        "How much: ",
        "How sure: 95 %",
        "Since: 2026-11-23 12:00 UTC",
    ):
        assert part in text
    assert slack["blocks"][3]["text"]["text"].endswith("|Difference in the Firefox Profiler>")
    card = teams["attachments"][0]["content"]
    title, headline, *lines, links = card["body"]
    assert title["inlines"][0]["text"] == "Shop: 1.1 made /a<b>*c* slower: +13 ms per view"  # runs have no Markdown
    assert {item["type"] for item in card["body"]} == {"RichTextBlock", "ActionSet"}
    assert headline["separator"]
    assert [line["inlines"][0]["text"] for line in lines] == ["Where: ", "How much: ", "How sure: ", "Since: "]
    assert [action["title"] for action in links["actions"]] == ["Compare", "Difference in the Firefox Profiler"]
    assert links["actions"][0]["url"].startswith("https://fieldflame.example/projects/shop/compare/?")


def test_a_mail_has_all_in_plain_text(project: Project, settings: Settings, tmp_path: Path) -> None:
    settings.ADDRESS = "fieldflame.example"
    with mail_receiver(tmp_path) as (port, kept):
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        kept.answer_with(451, 200)
        create_channel(
            project=project,
            kind="mail",
            name="M",
            addresses=["a@shop.example", "b@shop.example"],
            terms=Terms(),
            now=NOON,
        )
        change_state(project, State.CONFIRMED, page="/cart\nBcc: c@shop.example")
        assert send_due(NOON) == 0
        assert "451" in (Message.objects.get().problem or "")
        assert send_due(NOON + timedelta(minutes=1)) == 1
        refused, taken = kept.list()
    assert taken["to"] == ["a@shop.example", "b@shop.example"]
    mails = [message_from_string(message["text"], policy=default) for message in (refused, taken)]
    assert mails[0]["Message-ID"] == mails[1]["Message-ID"] == f"<{Message.objects.get().id}@fieldflame>"
    assert mails[1]["Subject"].strip() == "Shop: 1.1 made /cart Bcc: c@shop.example slower: +13 ms per view"
    text = mails[1].get_content()
    for part in (
        "How much: +13 ms script and hidden time per view (+100 %); renderCart grew most",
        "95 % certain: 9.8 to 16.2 ms; 500 page views before, 400 after, look 3",
        "http://fieldflame.example/projects/shop/compare/?base_release=1.0&head_release=1.1",
    ):
        assert part in text


def test_a_line_break_in_a_name_does_not_break_a_title(settings: Settings, tmp_path: Path) -> None:
    project = make_project("shop", name="Shop\nBcc: c@shop.example")
    make_channel(project, "a@shop.example", "mail")
    with mail_receiver(tmp_path) as (port, kept):
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        make_test(Channel.objects.get(), NOON)
        assert Message.objects.get().title == "Shop Bcc: c@shop.example: a test of Fieldflame"
        Message.objects.update(title="Of an older\nversion")
        assert send_due(NOON) == 1
    assert message_from_string(kept.list()[0]["text"], policy=default)["Subject"] == "Of an older version"


def test_the_log_says_which_addresses_were_refused(project: Project, settings: Settings) -> None:
    addresses = ["a@shop.example", "bob@shop.example", "c@shop.example"]
    create_channel(project=project, kind="mail", name="M", addresses=addresses, terms=Terms(), now=NOON)
    settings.EMAIL_HOST, settings.EMAIL_USE_TLS, settings.EMAIL_USE_SSL = "127.0.0.1", False, False
    change_state(project, State.CONFIRMED)
    kept: list[bytes] = []
    with slow_receiver(speak_smtp(kept, refused=b"bob@")) as settings.EMAIL_PORT:
        assert send_due(NOON) == 1
        assert send_due(NOON + timedelta(hours=1)) == 0  # the others have it
    message = Message.objects.get()
    assert (message.state, len(kept)) == (Message.State.SENT, 1)
    assert message.problem == "Refused: b…@shop.example (550 no such user)."
    with slow_receiver(speak_smtp(kept, refused=b"@")) as settings.EMAIL_PORT:
        replay(project.pk, message.id, NOON)
        assert send_due(NOON) == 0
    message.refresh_from_db()
    assert (message.state, len(kept)) == (Message.State.WAITING, 1)
    assert "a…@shop.example (550 no such user)" in (message.problem or "")
    assert "bob" not in (message.problem or "")


def test_without_a_mail_server_the_log_says_so(project: Project) -> None:
    make_channel(project, "a@shop.example", "mail")
    change_state(project, State.CONFIRMED)
    assert send_due(NOON) == 0
    assert "FIELDFLAME_MAIL_HOST" in (Message.objects.get().problem or "")


def test_what_fails_is_tried_again_with_the_same_id_and_content(project: Project, hook: Hook) -> None:
    make_channel(project, hook[0])
    change_state(project, State.CONFIRMED)
    hook[1].answer_with(500, 307, 429)
    now = NOON
    for tries, wait in ((1, timedelta(0)), (2, timedelta(seconds=40)), (3, timedelta(minutes=2))):
        now += wait
        assert send_due(now) == 0
        message = Message.objects.get()
        assert (message.tries, message.state) == (tries, Message.State.WAITING)
        assert now < message.due_at
    assert message.due_at >= now + timedelta(seconds=7200)  # as the receiver asked
    assert send_due(message.due_at) == 1
    got = hook[1].list()
    assert [request["path"] for request in got] == ["/hook?key=s3cret"] * 4  # no redirect was followed
    assert len({request["headers"]["webhook-id"] for request in got}) == len({request["body"] for request in got}) == 1


def test_what_fails_before_quiet_hours_is_tried_again_after_them(project: Project, hook: Hook) -> None:
    make_channel(project, hook[0])
    Channel.objects.update(quiet_from=NOON.hour * 60, quiet_to=NOON.hour * 60 + 30)
    change_state(project, State.CONFIRMED, at=NOON - timedelta(seconds=5))
    hook[1].answer_with(500)
    assert send_due(NOON - timedelta(seconds=5)) == 0
    assert Message.objects.get().due_at == NOON + timedelta(minutes=30)


def test_a_receiver_that_is_gone_or_never_answers_well_is_given_up(
    project: Project, hook: Hook, settings: Settings
) -> None:
    make_channel(project, hook[0])
    change_state(project, State.CONFIRMED)
    hook[1].answer_with(410)
    send_due(NOON)
    message = Message.objects.get()
    assert (message.state, message.status) == (Message.State.FAILED, 410)
    assert replay(project.pk, message.id, NOON)
    assert not replay(project.pk, message.id, NOON)  # it is under way
    settings.ALERTS_TRIES = 1
    hook[1].answer_with(503)
    send_due(NOON)
    message.refresh_from_db()
    assert (message.state, message.tries, message.attempts) == (Message.State.FAILED, 1, 2)
    replay(project.pk, message.id, NOON)
    assert send_due(NOON) == 1
    assert len({request["headers"]["webhook-id"] for request in hook[1].list()}) == 1


def test_addresses_of_this_network_are_refused_unless_allowed(hook: Hook, settings: Settings, project: Project) -> None:
    make_channel(project, hook[0])
    settings.WEBHOOK_ALLOW_PRIVATE = []
    change_state(project, State.CONFIRMED)
    assert send_due(NOON) == 0
    assert "FIELDFLAME_WEBHOOK_ALLOW_PRIVATE" in (Message.objects.get().problem or "")
    assert hook[1].list() == []


def test_a_name_is_looked_up_once_and_that_address_is_asked(
    hook: Hook, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = settings.WEBHOOK_PORTS[0]
    asked = []

    def look_up(host: str, port: int, **_: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "10.0.0.1"
        return [(2, 1, 6, "", (address, port))]

    monkeypatch.setattr("aggregate.doctor.addresses.socket.getaddrinfo", look_up)
    assert post(f"http://hooks.example:{port}/x", b"{}", {}).status == 200
    assert asked == ["hooks.example"]
    assert hook[1].list()[0]["headers"]["host"] == f"hooks.example:{port}"


def test_a_killed_sender_leaves_a_claim_that_ends(
    project: Project, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_channel(project, hook[0])
    change_state(project, State.CONFIRMED)
    gather_due(NOON)
    message = Message.objects.get()

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(sending, "settle", die)
        with pytest.raises(Killed):
            send_one(project.pk, message.id, NOON)
    assert send_due(NOON + timedelta(seconds=1)) == 0  # somebody may be at it
    assert send_due(NOON + timedelta(seconds=lease_s(Channel.objects.get()) + 1)) == 1
    assert len(hook[1].list()) == 2
    assert len({request["headers"]["webhook-id"] for request in hook[1].list()}) == 1
    message.refresh_from_db()
    assert (message.state, message.attempts) == (Message.State.SENT, 2)


def test_one_channel_that_fails_does_not_hold_up_others(project: Project, hook: Hook, settings: Settings) -> None:
    port = closed_port()
    settings.WEBHOOK_PORTS = [*settings.WEBHOOK_PORTS, port]
    make_channel(project, f"http://127.0.0.1:{port}/")
    make_channel(project, hook[0])
    for release in ("1.1", "1.2", "1.3"):
        change_state(project, State.CONFIRMED, release=release)
    assert send_due(NOON) == 3
    assert sum(message.attempts for message in Message.objects.exclude(state=Message.State.SENT)) == 1


def test_a_test_message_says_that_it_is_one(project: Project, hook: Hook) -> None:
    for kind in ("webhook", "slack", "teams"):
        make_channel(project, hook[0], kind)
    for channel in Channel.objects.all():
        make_test(channel, NOON)
    assert send_due(NOON) == 3
    assert any("fieldflame.test" in request["body"] for request in hook[1].list())


def test_two_senders_never_have_the_same_message(project: Project, hook: Hook) -> None:
    make_channel(project, hook[0])
    change_state(project, State.CONFIRMED)
    gather_due(NOON)
    message = Message.objects.get()
    assert claim(project.pk, message.id, NOON) is not None
    assert claim(project.pk, message.id, NOON) is None


def test_waits_grow_and_have_an_end() -> None:
    waits = [find_wait_s(tries) for tries in range(1, 13)]
    assert 15 <= waits[0] <= 30
    assert max(waits) <= 6 * 3600
