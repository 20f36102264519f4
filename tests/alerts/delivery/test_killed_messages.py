"""Real processes are killed while they evaluate and send: one notice per change and channel, and the same id again."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.utils import timezone
from pytest_django import Settings

from aggregate.models import VerdictLook
from alerts.channels import Terms, create_channel
from alerts.delivery.gathering import gather_due
from alerts.models import AlertState, Message, Notice, StateChange
from profcore.alerts.states import State
from projects.models import Project
from tests.aggregate.posting import database_url, rows
from tests.alerts.delivery.receivers import HANGS, Kept, web_receiver
from tests.builders import MONDAY, make_group, make_project, make_views_of_hours
from tests.runner.waiting import wait_until

pytestmark = [pytest.mark.kills, pytest.mark.slow(25), pytest.mark.django_db(transaction=True)]

LIMIT_S = 240.0
TIMES = [10_000, 12_000, 14_000, 16_000] * 25
EVALUATE = "from alerts.evaluating import evaluate_due; evaluate_due(timezone.now())"
SEND = "from alerts.delivery.sending import send_due; send_due(timezone.now() + timedelta(minutes={minutes}))"
BEFORE = "from datetime import timedelta; from django.utils import timezone; "
WAITS = """SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
           WHERE d.datname = current_database() AND l.relation = 'alerts_notice'::regclass AND NOT l.granted"""


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[tuple[str, Kept]]:
    with web_receiver(tmp_path) as started:
        yield started


@pytest.fixture
def project(hook: tuple[str, Kept]) -> Project:
    """A shop whose new release is twice as slow, with a webhook."""
    made = make_project("shop")
    for release, factor, days in (("1.0", 1, 10), ("1.1", 2, 1)):
        make_group(made, release, "/cart", first_seen_at=timezone.now() - timedelta(days=days))
        times = [factor * us for us in TIMES * 2]
        make_views_of_hours(made, times, release=release, page="/cart", starts_at=MONDAY + timedelta(days=10 - days))
    settings_of(hook)
    return made


def settings_of(hook: tuple[str, Kept]) -> dict[str, str]:
    """What a process needs to reach the receiver."""
    port = hook[0].split(":")[2].split("/")[0]
    return {"FIELDFLAME_WEBHOOK_ALLOW_PRIVATE": "127.0.0.0/8", "FIELDFLAME_WEBHOOK_PORTS": port}


def start(code: str, hook: tuple[str, Kept]) -> subprocess.Popen[str]:
    """Runs code against the test's database, in a process of its own."""
    environment = {"DATABASE_URL": database_url(), "FIELDFLAME_SECRET_KEY": settings.SECRET_KEY, **settings_of(hook)}
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "shell", "-v", "0", "-c", BEFORE + code]
    return subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_while_running(is_so: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Waits for what a process does; fails with what it said if it ended."""

    def is_running() -> bool:
        return process.poll() is None

    wait_until(is_so, lambda: "nothing came" if is_running() else str(process.communicate()), is_alive=is_running)


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def finish(process: subprocess.Popen[str]) -> None:
    out = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, out


def add_channel(project: Project, hook: tuple[str, Kept], settings: Settings) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = ["127.0.0.0/8"]
    settings.WEBHOOK_PORTS = [int(settings_of(hook)["FIELDFLAME_WEBHOOK_PORTS"])]
    create_channel(project=project, kind="webhook", name="A", addresses=[hook[0]], terms=Terms(), now=timezone.now())


def test_kills_lose_nothing_and_repeats_have_the_same_id(
    project: Project, hook: tuple[str, Kept], settings: Settings
) -> None:
    add_channel(project, hook, settings)
    # Killed while it writes the notice: the state, the history and the look are not there either.
    with psycopg.connect(database_url()) as holder:
        holder.execute("LOCK TABLE alerts_notice IN ACCESS EXCLUSIVE MODE")
        process = start(EVALUATE, hook)
        wait_while_running(lambda: rows(WAITS)[0][0] > 0, process)
        kill(process)
        holder.rollback()
    wait_until(lambda: rows(WAITS)[0][0] == 0, "its session did not end")
    finish(start(EVALUATE, hook))
    assert StateChange.objects.filter(state=State.CONFIRMED).count() == AlertState.objects.count() == 1
    assert VerdictLook.objects.count() == Notice.objects.count() == 1

    # Killed while the receiver has the message and has not answered: claimed, and nobody knows that it arrived.
    hook[1].answer_with(HANGS)
    process = start(SEND.format(minutes=0), hook)
    wait_while_running(lambda: len(hook[1].list()) == 1, process)
    kill(process)
    message = Message.objects.get()
    assert (message.state, message.attempts) == (Message.State.WAITING, 1)
    finish(start(SEND.format(minutes=0), hook))  # the claim still holds
    assert len(hook[1].list()) == 1
    finish(start(SEND.format(minutes=5), hook))
    first, second = hook[1].list()
    assert first["headers"]["webhook-id"] == second["headers"]["webhook-id"] == str(message.id)
    assert first["body"] == second["body"]
    message.refresh_from_db()
    assert (message.state, message.attempts) == (Message.State.SENT, 2)
    assert gather_due(timezone.now()) == 0
    assert Notice.objects.count() == Message.objects.count() == 1
