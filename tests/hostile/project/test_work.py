"""Jobs, previews, messages and a guest's reads, of a project in which every text has its worst form."""

import json
from email import message_from_bytes
from functools import partial
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from aggregate.jobs.runs import run_next_job
from aggregate.models import Job
from alerts.delivery import receivers
from alerts.delivery.gathering import make_test, write_letter
from alerts.delivery.outcomes import Receipt
from alerts.delivery.receivers import hand_over
from alerts.models import Channel, Message, StateChange
from alerts.sealing import open_seal
from dashboard.api.jobs.kinds import KINDS
from dashboard.api.jobs.preparation import answer_job
from profcore.formats.registry import EXPORTERS
from tests.dashboard.web.addresses import list_names
from tests.hostile.project.checking import check_page, read_within_bounds
from tests.hostile.project.costs import run_once, run_within_bounds
from tests.hostile.project.making import API, JSON, NEW, PAGE, SETTINGS, SLUG, HostileProject, start_job, take
from tests.hostile.project.texts import MARKUP, NO_BRACES, PAGES, SLOW_FOR_RE, TAGS

pytestmark = [pytest.mark.nightly, pytest.mark.slow(60)]
SLICE = {"release": NEW, "page": PAGES[0]}
TEAMS_BYTES = (
    28 * 1_024
)  # https://learn.microsoft.com/en-us/microsoftteams/platform/bots/how-to/format-your-bot-messages
MAIL_HEADERS = (
    *("content-type", "mime-version", "content-transfer-encoding", "subject", "from", "to", "date", "message-id"),
    *("auto-submitted", "x-fieldflame-message"),
)
ERASURE_CPU_S = 30.0  # of all five hundred page views, one after the other
JOBS: list[tuple[str, dict[str, Any]]] = [
    *((kind, {**SLICE, **({"format": "firefox"} if kind == "profile" else {})}) for kind in KINDS),
    *(("profile", {"release": NEW, "format": name, "tag": f"visitor:{TAGS['visitor']}"}) for name in EXPORTERS),
]


@pytest.mark.parametrize(
    ("kind", "params"), JOBS, ids=lambda value: value if isinstance(value, str) else value.get("format", "")
)
def test_a_job_prepares_hostile_texts_at_a_bounded_cost(
    hostile: HostileProject, kind: str, params: dict[str, Any]
) -> None:
    job_id = start_job(hostile.client, kind, params)
    run_once(f"job {kind}", lambda: run_next_job(answer_job))
    job = Job.objects.get(id=job_id)
    assert (job.state, job.error_detail) == (Job.State.DONE, None)
    read_within_bounds(partial(hostile.client.get, f"{API}jobs/{job_id}/result"), f"result of {kind}")
    read_within_bounds(partial(hostile.client.get, f"{API}jobs/{job_id}"), f"job {kind}")


def test_erasing_by_a_hostile_tag_erases_its_views(hostile: HostileProject) -> None:
    answer = hostile.client.post(API + "erasures", {"tag": "visitor", "value": TAGS["visitor"]}, content_type=JSON)
    run_once("an erasure by tag", lambda: run_next_job(answer_job), most_cpu_s=ERASURE_CPU_S)
    erasure = read_within_bounds(
        partial(hostile.client.get, f"{API}erasures/{take(answer).json()['id']}"), "an erasure"
    )
    assert json.loads(erasure.content)["state"] == "done"
    take(hostile.client.post(f"{PAGE}views/{hostile.ids['view_id']}/erase/", {"confirm": "erase"}), 302, 200, 404, 400)
    run_next_job(answer_job)
    read_within_bounds(partial(hostile.client.get, PAGE + "views/list/"), "views after an erasure")


def test_a_prepared_preview_of_an_alert_is_a_page(hostile: HostileProject) -> None:
    question = {"kind": "budget", "question": {"measure": "inp_script", "limit": 1.0, "page": PAGES[0]}}
    ask = partial(hostile.client.post, API + "alerts/preview", question, content_type=JSON)
    assert ask().status_code == 202
    job = Job.objects.filter(kind="preview_budget").latest("created_at")
    run_once("a prepared preview", lambda: run_next_job(answer_job))
    assert read_within_bounds(ask, "a prepared preview").response.status_code == 200
    read_within_bounds(partial(hostile.client.get, f"{SETTINGS}alerts/previews/{job.id}/"), "the page of a preview")


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("code/preview", {"rules": {"categories": [{"category": "library", "name": "(a|a)*c", "uri": "(a|aa)*$"}]}}),
        ("code/preview", {"rules": {"packages": [{"path": "src/*", "name": NO_BRACES + "*"}]}}),
        ("display/preview", {"rules": [{"action": "group", "field": "name", "pattern": "*", "title": "{name}"}]}),
        (
            "display/preview",
            {"rules": [{"action": "fold", "field": "uri", "pattern": "*" + SLOW_FOR_RE, "title": NO_BRACES[:120]}]},
        ),
        ("alerts/preview", {"kind": "new_third_parties", "question": {"by": "party", "limit": 0.01}}),
        ("alerts/preview", {"kind": "new_third_parties", "question": {"by": "package", "limit": 0.01}}),
        (
            "alerts/preview",
            {"kind": "budget", "question": {"measure": "share", "limit": 0.1, "by": "party", "name": MARKUP}},
        ),
    ],
)
def test_a_preview_by_the_api_is_bounded(hostile: HostileProject, address: str, body: dict[str, Any]) -> None:
    ask = partial(hostile.client.post, API + address, body, content_type=JSON)
    assert read_within_bounds(ask, address).response.status_code == 200


@pytest.mark.parametrize(
    ("address", "form"),
    [
        ("routes/", {"rules": "/cart/*\n/:a/:b", "preview": "1"}),
        ("routes/", {"rules": MARKUP}),
        ("", {"name": MARKUP, "source_link_template": MARKUP}),
        ("keys/", {"origins": MARKUP}),
        ("collection/", {"pages": f"{MARKUP} 5\n*{NO_BRACES} 5", "rate": MARKUP}),
        ("members/", {"username": MARKUP, "role": "member"}),
        ("tokens/", {"name": MARKUP, "scopes": MARKUP, "days": MARKUP}),
        ("erase/", {"name": MARKUP, "value": MARKUP, "confirm": MARKUP}),
        (
            "alerts/new/",
            {"kind": "budget", "name": MARKUP, "measure": MARKUP, "limit": MARKUP, "page": MARKUP, "preview": "1"},
        ),
        (
            "channels/new/",
            {"kind": "webhook", "name": MARKUP, "addresses": MARKUP, "pages": MARKUP, "time_zone": MARKUP},
        ),
        ("channels/new/", {"kind": "mail", "name": MARKUP, "addresses": f"{MARKUP}@a.example", "time_zone": "UTC"}),
        (f"source-maps/address/?{urlencode({'release': NEW})}", {"url_prefix": MARKUP}),
    ],
)
def test_a_form_shows_again_what_it_refuses(hostile: HostileProject, address: str, form: dict[str, str]) -> None:
    answer = read_within_bounds(partial(hostile.client.post, SETTINGS + address, form), f"form {address}")
    assert answer.response.status_code in (200, 302, 400)


def test_each_form_of_each_message_has_hostile_texts_as_texts(
    hostile: HostileProject, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ADDRESS, settings.EMAIL_HOST = "https://fieldflame.example", "mail.example"
    sent: list[tuple[str, bytes]] = []
    mails: list[bytes] = []

    def keep(address: str, body: bytes, headers: dict[str, str]) -> Receipt:
        sent.append((address, body))
        return Receipt(200)

    monkeypatch.setattr(receivers, "post", keep)
    monkeypatch.setattr(EmailMessage, "send", lambda mail: mails.append(mail.message().as_bytes()))
    for channel in Channel.objects.filter(project=hostile.project):
        make_test(channel, timezone.now())
    messages = list(Message.objects.filter(project=hostile.project))
    assert {len(message.change_ids) > 1 for message in messages} == {True, False}
    for channel in Channel.objects.filter(project=hostile.project):
        for message in messages:
            run_within_bounds(f"a message by {channel.kind}", partial(send_message, channel, message))
            check = {"mail": check_mail, "slack": check_slack, "teams": check_teams}.get(channel.kind, json.loads)
            check(mails[-1] if channel.kind == "mail" else sent[-1][1])


def send_message(channel: Channel, message: Message) -> None:
    hand_over(channel, open_seal(channel.sealed), write_letter(message))


def check_mail(content: bytes) -> None:
    """Asserts that a mail has one part of plain text, and the headers that we write, each once."""
    mail = message_from_bytes(content)
    assert mail.get_content_type() == "text/plain"
    assert sorted(name.lower() for name in mail) == sorted(MAIL_HEADERS)
    assert all(len(line) < 1_000 for line in content.splitlines())  # RFC 5322, section 2.1.1


def check_slack(content: bytes) -> None:
    """Asserts Slack's limits, and that no text has a link of its own."""
    blocks = json.loads(content)["blocks"]
    texts = [block["text"]["text"] for block in blocks]
    assert len(blocks) <= 50
    assert all(0 < len(text) <= 3_000 for text in texts)
    assert all(
        "<" not in text or (text.startswith("<https://fieldflame.example/") and text.count("<") == 1) for text in texts
    )


def check_teams(content: bytes) -> None:
    """Asserts that names are in runs of text, and that a workflow takes the card."""
    assert len(content) < TEAMS_BYTES
    body = json.loads(content)["attachments"][0]["content"]["body"]
    assert {item["type"] for item in body} <= {"RichTextBlock", "ActionSet"}


def test_all_kinds_of_alerts_have_found_something(hostile: HostileProject) -> None:
    kinds = StateChange.objects.filter(project=hostile.project).values_list("asked__kind", flat=True)
    assert {"release", "budget", "new_third_parties"} <= set(kinds)


def test_a_guest_reads_hostile_texts_as_texts(hostile: HostileProject) -> None:
    shared = take(hostile.client.post(PAGE + "share/", {"page": f"{PAGE}functions/"}, headers={"HX-Request": "true"}))
    text = shared.content.decode()
    check_page(text)
    start = text.index("/shared/ffs_")
    guest = Client(raise_request_exception=False)
    home = take(guest.get(text[start:].split('"')[0].split("<")[0].split("&")[0]), 302)["Location"]
    prefix = home.partition(f"/projects/{SLUG}/")[0]
    read = 0
    for name in sorted(list_names(lambda traits: traits.for_guests == "open")):
        try:
            address = prefix + reverse(name, kwargs={"slug": SLUG})
        except Exception:  # of one function
            address = f"{prefix}{PAGE}functions/{hostile.funcs[0]}/"
        answer = read_within_bounds(partial(guest.get, address), f"guest {name}")
        read += answer.response.status_code == 200
    assert read > 5
