"""Below a path, a worker evaluates alerts and sends messages, and every link in them opens."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email import message_from_string
from email.policy import default
from html import unescape
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import httpx
import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from alerts import tasks
from alerts.channels import Terms, create_channel
from alerts.models import Message, StateChange
from alerts.queries import clean_alert_query
from alerts.rules import create_alert
from ops.supervisor.folder import DataFolder
from ops.supervisor.services import make_environment, make_worker_child
from profcore.alerts.states import State
from profcore.times import start_of_day
from projects.models import Project
from tests.aggregate.posting import database_url
from tests.alerts.alerted_days import TIME
from tests.alerts.costly_days import TIMES
from tests.alerts.delivery.receivers import mail_receiver, web_receiver
from tests.builders import make_group, make_project, make_timed_views
from tests.deploy.below_path.serving import (
    PATH,
    check_answer,
    log_in,
    open_client,
    run_below_path,
    set_slow_password,
)
from tests.runner.waiting import wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slow(30), pytest.mark.django_db(transaction=True)]
KINDS: Final = ("webhook", "slack", "teams")


def make_slow_release() -> Project:
    """Makes a project with a release that made a page slower, and with two days over a budget.

    A day is judged three hours after its end, so yesterday may not be yet.
    """
    project, today = make_project("shop", name="Shop"), start_of_day(timezone.now())
    for release, factor, days_ago in (("1.0", 1, 4), ("1.1", 2, 3), ("1.1", 2, 2)):
        starts_at = today - timedelta(days=days_ago) + timedelta(hours=9)
        make_group(project, release, "/cart", first_seen_at=starts_at)
        times = [factor * us for us in TIMES * 5]
        make_timed_views(project, times, release=release, page="/cart", starts_at=starts_at)
    question = clean_alert_query("budget", TIME)
    create_alert(project=project, kind="budget", name="Script", question=question, now=today - timedelta(days=4))
    return project


@contextmanager
def run_worker(folder: Path, **environment: str) -> Iterator[None]:
    """Runs a worker before the test's database, with some settings."""
    place = DataFolder(folder / "worker")
    place.create()
    child = make_worker_child(place, make_environment(place, host="127.0.0.1", port=0, extra=environment))
    child.start()
    try:
        wait_until(place.worker_ready.exists, child.log.read_text, is_alive=child.is_running)
        yield
    finally:
        child.stop(lambda: False)


def write_out(body: str) -> str:
    """Returns the texts of a JSON body, one a line, as their readers show them."""
    texts: list[str] = []

    def collect(value: object) -> None:
        if isinstance(value, str):
            texts.append(unescape(value))
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            collect(inner)

    collect(json.loads(body))
    return "\n".join(text for text in texts if "adaptivecards.io" not in text)


def list_links(text: str) -> set[str]:
    return set(re.findall(r"https?://[^\s|>]+", text))


def open_links(client: httpx.Client, name: str, text: str) -> Iterator[str]:
    """Opens all addresses in a message as somebody who is logged in, and yields what is wrong."""
    links = list_links(text)
    if not links:
        yield f"{name} has no link"
    for link in sorted(links):
        if not link.startswith(f"{str(client.base_url).rstrip('/')}{PATH}/"):
            yield f"{name} leads out to {link}"
            continue
        answer = client.get(link)
        if link.endswith("/profile/"):  # which leads to the viewer, and that to our file
            inside = re.search(r"/from-url/([^/]+)/", answer.headers["Location"])
            assert inside is not None, answer.headers["Location"]
            answer = httpx.get(unquote(inside[1]), trust_env=False)
            assert answer.json()["meta"]["product"]
            assert urlsplit(str(answer.url)).path.startswith(f"{PATH}/api/v1/shared/")
        else:
            yield from check_answer(answer)
        if answer.status_code != 200:
            yield f"{name}: {link} answered {answer.status_code}"


def test_links_in_messages_of_a_worker_open_below_the_path(tmp_path: Path, settings: Settings) -> None:
    user = User.objects.create_superuser("admin")
    set_slow_password(user)
    project = make_slow_release()
    with (
        web_receiver(tmp_path / "hook") as (hook, hooked),
        mail_receiver(tmp_path / "mail") as (mail_port, mailed),
        run_below_path(tmp_path) as server,
    ):
        # The checks of addresses are the worker's; this process only stores them.
        settings.WEBHOOK_ALLOW_PRIVATE, settings.WEBHOOK_PORTS = ["127.0.0.0/8"], [urlsplit(hook).port]
        settings.EMAIL_HOST = "127.0.0.1"
        for kind, address in (*((kind, hook) for kind in KINDS), ("mail", "team@shop.example")):
            create_channel(
                project=project, kind=kind, name=kind, addresses=[address], terms=Terms(), now=timezone.now()
            )
        worker = run_worker(
            tmp_path,
            DATABASE_URL=database_url(),
            FIELDFLAME_SECRET_KEY=settings.SECRET_KEY,  # addresses of channels are sealed with it
            FIELDFLAME_PATH=PATH,
            FIELDFLAME_ADDRESS=f"http://127.0.0.1:{server.port}",
            FIELDFLAME_WEBHOOK_ALLOW_PRIVATE="127.0.0.0/8",
            FIELDFLAME_WEBHOOK_PORTS=str(urlsplit(hook).port),
            FIELDFLAME_MAIL_HOST="127.0.0.1",
            FIELDFLAME_MAIL_SECURITY="none",
            FIELDFLAME_MAIL_PORT=str(mail_port),
        )
        with worker:
            tasks.evaluate.delay()
            confirmed = StateChange.objects.filter(state=State.CONFIRMED)
            wait_until(lambda: set(confirmed.values_list("base_release", flat=True)) == {"", "1.0"}, "no alarm")
            tasks.send_messages.delay()
            wait_until(has_all, lambda: repr(list(Message.objects.values())))
        texts = {f"message {number}": write_out(request["body"]) for number, request in enumerate(hooked.list())}
        mails = [message_from_string(mail["text"], policy=default) for mail in mailed.list()]
        texts |= {f"mail {number}": mail.get_content() for number, mail in enumerate(mails)}
        with open_client(server.port) as client:
            log_in(client, user)
            faults = [fault for name, text in texts.items() for fault in open_links(client, name, text)]
    assert len(texts) == 2 * len(KINDS) + 2, "each channel gets a message about the release, and one about the budget"
    links = {
        urlsplit(link).path.removeprefix(f"{PATH}/projects/shop/") for link in list_links("\n".join(texts.values()))
    }
    assert links > {"", "compare/", "alerts/"}, "the budget's days, the two releases, and the history"
    assert faults == []


def has_all() -> bool:
    """Returns whether each channel got its messages."""
    return Message.objects.exists() and not Message.objects.exclude(state=Message.State.SENT).exists()
