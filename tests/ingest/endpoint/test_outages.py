"""The endpoint without the broker, and without the database."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine
from django.db import IntegrityError, OperationalError, connection
from kombu.exceptions import OperationalError as BrokerError
from pytest_django import Settings

from ingest import notify
from tests.builders import make_project
from tests.envelopes import make_envelope
from tests.ingest.broker import renew_broker_client
from tests.ingest.endpoint.posting import IngestServer
from tests.partitions import drop_made_partitions

pytestmark = pytest.mark.slow(10)

SOON_S = 30.0  # a machine may be busy; a client without a timeout would wait forever
ROOT = Path(__file__).resolve().parent.parent.parent.parent


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def another_broker(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings whose REDIS_URL may be changed: this process's client and its pause are its own."""
    renew_broker_client(monkeypatch)
    return settings


@pytest.fixture
def wakes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each post asks the broker before it is answered: only then a slow broker could delay an answer."""
    monkeypatch.setattr("ingest.endpoint.posts.notify_soon", notify.notify_worker)


def assert_taken_soon(endpoint: IngestServer) -> None:
    started = time.monotonic()
    answer = endpoint.post([make_envelope(str(n)) for n in range(3)])
    assert (answer.status, answer.json) == (202, {"accepted": 3, "rejected": []})
    assert time.monotonic() - started < SOON_S
    assert len(endpoint.bodies()) == 3


def test_a_broker_that_is_gone_neither_fails_nor_delays_an_answer(
    endpoint: IngestServer, wakes_at_once: None, another_broker: Settings, closed_port: int
) -> None:
    another_broker.REDIS_URL = f"redis://127.0.0.1:{closed_port}/0"
    assert_taken_soon(endpoint)


def test_a_broker_that_is_silent_delays_one_answer_a_little_and_the_next_not_at_all(
    endpoint: IngestServer,
    wakes_at_once: None,
    another_broker: Settings,
    silent_port: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    another_broker.REDIS_URL = f"redis://127.0.0.1:{silent_port}/0"
    assert_taken_soon(endpoint)
    monkeypatch.setattr(notify, "flag_client", lambda: pytest.fail("The broker was asked again."))
    assert_taken_soon(endpoint)


def test_a_broker_that_takes_the_flag_but_no_task_fails_no_answer(
    endpoint: IngestServer, wakes_at_once: None, another_broker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise BrokerError("gone")

    notify.clear_flag()
    monkeypatch.setattr("ingest.notify.current_app.send_task", fail)
    assert_taken_soon(endpoint)


def test_a_lost_connection_is_answered_503_and_nothing_is_half_stored(
    endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr("ingest.storage.storing._store", fail)
    answer = endpoint.post(make_envelope("a"))
    assert (answer.status, answer.reason, answer.headers["Retry-After"]) == (503, "unavailable", "10")
    assert endpoint.receipts() == []
    assert "Traceback" not in caplog.text


def test_a_fault_of_our_own_sql_is_logged_with_its_traceback(
    endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise IntegrityError("not a missing partition")

    monkeypatch.setattr("ingest.storage.storing._store", fail)
    assert endpoint.post(make_envelope("a")).status == 503
    assert "Traceback" in caplog.text


POST_WITHOUT_DATABASE = """
import django, json, sys, time
django.setup()
from django.conf import settings
settings.DATABASES["default"]["OPTIONS"]["pool"]["timeout"] = 0.5
settings.MIDDLEWARE.insert(0, "tests.runner.endpoint_middleware.EndpointMiddleware")
from django.test import Client
started = time.monotonic()
answers = [Client().generic(m, "/ingest/v1/traces?key=k", b"{}", "text/plain") for m in ("POST", "POST", "OPTIONS")]
print(json.dumps([[a.status_code, a.headers.get("Retry-After"), a.headers["Access-Control-Allow-Origin"]]
                  for a in answers] + [time.monotonic() - started]))
"""


def test_without_a_database_posts_are_asked_to_come_again(closed_port: int) -> None:
    environment = {**os.environ, "DATABASE_URL": f"postgresql://nobody@127.0.0.1:{closed_port}/none"}
    done = subprocess.run(
        [sys.executable, "-c", POST_WITHOUT_DATABASE], env=environment, cwd=ROOT, capture_output=True, check=True
    )
    *answers, elapsed_s = json.loads(done.stdout)
    assert answers == [[503, "10", "*"], [503, "10", "*"], [204, None, "*"]]
    assert elapsed_s < 19  # the pool is given half a second a post; its own ten would make it twenty


class StallingProxy(threading.Thread):
    """A way to the database that passes everything on, until it is stalled: then nobody answers or hangs up."""

    def __init__(self, target: str) -> None:
        super().__init__(daemon=True)
        self.target = target
        self.is_stalled = False
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.server.getsockname()[1]

    def run(self) -> None:
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.target)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pass_on, args=(source, sink), daemon=True).start()

    def pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError), source, sink:
            try:
                while data := source.recv(65_536):
                    while self.is_stalled:
                        time.sleep(0.05)
                    sink.sendall(data)
            finally:
                for end in (source, sink):  # the other direction waits for one of them, and ends with it
                    with contextlib.suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)


POST_TO_A_DATABASE_THAT_STALLS = """
import django, json, sys, time
django.setup()
from django.conf import settings
settings.MIDDLEWARE.insert(0, "tests.runner.endpoint_middleware.EndpointMiddleware")
from django.test import Client
from tests.ingest.broker import renew_broker_client
from tests.envelopes import make_envelope
answers = []
for n in range(3):
    body = json.dumps(make_envelope(str(n))).encode()
    started = time.monotonic()
    answer = Client().generic("POST", "/ingest/v1/traces?key=KEY-shop", body, "text/plain")
    print(json.dumps([answer.status_code, answer.headers.get("Retry-After"), time.monotonic() - started]), flush=True)
    sys.stdin.readline()
"""


@pytest.mark.django_db(transaction=True)
def test_a_database_that_stops_answering_is_waited_for_two_seconds_at_most() -> None:
    make_project("shop")
    database = connection.settings_dict
    proxy = StallingProxy(f"{database['HOST']}/.s.PGSQL.{database['PORT'] or 5432}")
    proxy.start()
    environment = {
        **os.environ,
        "DATABASE_URL": f"postgresql://{database['USER']}@127.0.0.1:{proxy.port}/{database['NAME']}",
    }
    command = [sys.executable, "-c", POST_TO_A_DATABASE_THAT_STALLS]
    with subprocess.Popen(
        command, env=environment, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert json.loads(process.stdout.readline())[0] == 202
            proxy.is_stalled = True
            for _ in range(2):
                process.stdin.write("\n")
                process.stdin.flush()
                status, retry_after, seconds = json.loads(process.stdout.readline())
                assert (status, retry_after) == (503, "10")
                assert seconds < SOON_S  # without a bound it would wait for ever; on a quiet machine it is 1.7 s
        finally:
            process.kill()
            proxy.server.close()
            proxy.is_stalled = False


def test_a_missing_partition_is_made(open_endpoint: IngestServer) -> None:
    """Beat did not run for a week: the first post of the day makes the day's partition."""
    day = datetime.now(UTC) + timedelta(days=40)
    name = f"ingest_rawtrace_{day:%Y%m%d}"
    try:
        with time_machine.travel(day, tick=True):
            assert open_endpoint.post(make_envelope("a")).status == 202
            assert open_endpoint.post(make_envelope("b")).status == 202
        assert len(open_endpoint.bodies()) == 2
        assert open_endpoint.rows(f"SELECT count(*) FROM {name}") == [(2,)]
    finally:
        drop_made_partitions(day)
