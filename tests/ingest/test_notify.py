"""Notifications coalesce: one for many traces, until a worker clears the flag before it claims."""

import threading
import time
from collections.abc import Iterator
from typing import NoReturn

import pytest
from django.db import connection
from kombu.exceptions import OperationalError

from ingest import notify
from ingest.endpoint import views
from ingest.endpoint.requests import read_bounded
from ingest.endpoint.slow_bodies import Readable
from tests.envelopes import make_envelope
from tests.ingest.broker import renew_broker_client
from tests.ingest.endpoint.posting import IngestServer

DEADLINE_S = 60
QUEUE = "celery"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was published; the flag is real, and the broker is given all the time that a busy machine takes."""
    names: list[str] = []
    renew_broker_client(monkeypatch, DEADLINE_S)
    monkeypatch.setattr("ingest.notify.current_app.send_task", lambda name, **_: names.append(name))
    notify.clear_flag()
    yield names
    notify.clear_flag()
    notify.clear_flag(notify.FLAG + notify.WAITS)


def test_many_wake_ups_are_one_until_the_flag_is_cleared(sent: list[str]) -> None:
    assert [notify.notify_worker() for _ in range(5)] == [True, False, False, False, False]
    assert sent == ["aggregate.fold_pending"]
    notify.clear_flag()
    assert notify.notify_worker()
    assert len(sent) == 2


def test_the_flag_and_the_task_go_to_one_database(monkeypatch: pytest.MonkeyPatch) -> None:
    renew_broker_client(monkeypatch, DEADLINE_S)
    client = notify.flag_client()
    client.delete(notify.FLAG, QUEUE)
    assert notify.notify_worker()
    assert (client.exists(notify.FLAG), client.llen(QUEUE)) == (1, 1)
    client.delete(notify.FLAG, QUEUE)


def test_threads_that_wake_at_once_publish_one(sent: list[str]) -> None:
    threads = [threading.Thread(target=notify.notify_worker) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sent) == 1


def test_a_notifier_notifies_once_for_all_that_ask_meanwhile_and_again_for_who_asks_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    woken: list[None] = []
    begun, may_go_on = threading.Semaphore(0), threading.Semaphore(0)

    def wake_slowly() -> bool:
        woken.append(None)
        begun.release()
        assert may_go_on.acquire(timeout=DEADLINE_S)
        return True

    monkeypatch.setattr(notify, "notify_worker", wake_slowly)
    notifier = notify.Notifier()
    notifier.ask()
    assert begun.acquire(timeout=DEADLINE_S)
    for _ in range(20):  # while the first notification is under way: a worker may have looked already
        notifier.ask()
    may_go_on.release()
    assert begun.acquire(timeout=DEADLINE_S)
    may_go_on.release()
    assert notifier.settle(DEADLINE_S)
    assert len(woken) == 2


def test_a_notification_that_fails_ends_no_notifier(monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[None] = []

    def fail() -> bool:
        woken.append(None)
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(notify, "notify_worker", fail)
    notifier = notify.Notifier()
    for _ in range(2):
        notifier.ask()
        assert notifier.settle(DEADLINE_S)
    assert len(woken) == 2


def test_a_flag_whose_wake_up_was_lost_expires(sent: list[str]) -> None:
    assert notify.notify_worker()
    ttl_ms = notify.flag_client().pttl(notify.FLAG)
    assert isinstance(ttl_ms, int)
    assert 0 < ttl_ms <= notify.FLAG_S * 1000


def test_a_post_wakes_a_worker_once_its_rows_can_be_seen(
    open_endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def look() -> bool:
        thread = threading.Thread(target=lambda: seen.append(_count(open_endpoint)))
        thread.start()
        thread.join()
        return True

    monkeypatch.setattr("ingest.endpoint.posts.notify_soon", look)
    open_endpoint.post([make_envelope("a"), make_envelope("b")])
    assert seen == [2]


def _count(endpoint: IngestServer) -> int:
    try:
        return len(endpoint.receipts())
    finally:
        connection.close()


def test_a_post_of_which_nothing_was_taken_wakes_nobody(endpoint: IngestServer, sent: list[str]) -> None:
    endpoint.post([])
    endpoint.post([7])
    endpoint.post(b"{")
    assert sent == []


def test_no_wake_up_holds_a_connection_of_the_pool(
    open_endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []
    monkeypatch.setattr("ingest.endpoint.posts.notify_soon", lambda: held.append(connection.connection is not None))
    open_endpoint.post(make_envelope("a"))
    assert held == [False]


def test_no_upload_holds_a_connection_of_the_pool(open_endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bool] = []

    def read(stream: Readable, **bounds: int) -> bytes:
        held.append(connection.connection is not None)
        return read_bounded(stream, **bounds)

    monkeypatch.setattr(views, "read_bounded", read)
    assert open_endpoint.post(make_envelope("a")).status == 202
    assert held == [False]


def test_after_a_failure_no_try_is_made_for_a_while(sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[float] = []

    def fail() -> None:
        tries.append(time.monotonic())
        raise OSError("gone")

    monkeypatch.setattr("ingest.notify.flag_client", fail)
    assert [notify.notify_worker() for _ in range(5)] == [False] * 5
    assert len(tries) == 1
    monkeypatch.setattr(notify, "PAUSE_S", 0.0)
    monkeypatch.setattr(notify, "_paused_until", 0.0)
    assert [notify.notify_worker() for _ in range(3)] == [False] * 3
    assert len(tries) == 4


def test_the_flag_of_a_wake_up_that_is_lost_is_not_kept_for_ever(sent: list[str]) -> None:
    assert notify.notify_worker()
    client = notify.flag_client()
    client.pexpire(notify.FLAG, DEADLINE_S * 1000 // 2)
    notify.keep_flag()
    assert client.pttl(notify.FLAG) > DEADLINE_S * 1000 // 2
    client.delete(notify.FLAG + notify.WAITS)  # as after LOST_S, in which nobody has taken the notification
    client.pexpire(notify.FLAG, DEADLINE_S * 1000 // 2)
    notify.keep_flag()
    assert client.pttl(notify.FLAG) <= DEADLINE_S * 1000 // 2
    client.delete(notify.FLAG)
    assert notify.notify_worker()
    assert len(sent) == 2


def test_another_process_may_wake_at_once_where_one_could_not(sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise OperationalError("the connection was lost while the broker's host was cut off")

    with monkeypatch.context() as patch:
        patch.setattr("ingest.notify.current_app.send_task", fail)
        assert not notify.notify_worker()
    assert not notify.flag_client().exists(notify.FLAG)
    monkeypatch.setattr(notify, "_paused_until", 0.0)  # only the process that failed pauses
    assert notify.notify_worker()
    assert sent == [notify.FOLD_TASK]
