"""Wake-ups coalesce: one for many traces, until a worker clears the flag before it claims."""

import threading
import time
from collections.abc import Iterator
from typing import NoReturn

import pytest
from django.db import connection
from kombu.exceptions import OperationalError

from ingest import notify as wake
from ingest.endpoint import views
from ingest.endpoint.requests import Post, read_sent
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import Door

PATIENCE_S = 60
QUEUE = "celery"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was published; the flag is real, and the broker is given all the time that a busy machine takes."""
    names: list[str] = []
    monkeypatch.setattr(wake, "_paused_until", 0.0)
    monkeypatch.setattr(wake, "_client", None)
    monkeypatch.setattr(wake, "TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(wake, "FLAG_S", PATIENCE_S)
    monkeypatch.setattr("ingest.notify.current_app.send_task", lambda name, **_: names.append(name))
    wake.clear_flag()
    yield names
    wake.clear_flag()
    wake.clear_flag(wake.FLAG + wake.WAITS)


def test_many_wake_ups_are_one_until_the_flag_is_cleared(sent: list[str]) -> None:
    assert [wake.wake_worker() for _ in range(5)] == [True, False, False, False, False]
    assert sent == ["aggregate.fold_pending"]
    wake.clear_flag()
    assert wake.wake_worker()
    assert len(sent) == 2


def test_the_flag_and_the_task_go_to_one_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake, "_paused_until", 0.0)
    monkeypatch.setattr(wake, "_client", None)
    monkeypatch.setattr(wake, "TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(wake, "FLAG_S", PATIENCE_S)
    client = wake.flag_client()
    client.delete(wake.FLAG, QUEUE)
    assert wake.wake_worker()
    assert (client.exists(wake.FLAG), client.llen(QUEUE)) == (1, 1)
    client.delete(wake.FLAG, QUEUE)


def test_threads_that_wake_at_once_publish_one(sent: list[str]) -> None:
    threads = [threading.Thread(target=wake.wake_worker) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sent) == 1


def test_a_waker_wakes_once_for_all_that_ask_meanwhile_and_again_for_who_asks_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    woken: list[None] = []
    begun, may_go_on = threading.Semaphore(0), threading.Semaphore(0)

    def wake_slowly() -> bool:
        woken.append(None)
        begun.release()
        assert may_go_on.acquire(timeout=PATIENCE_S)
        return True

    monkeypatch.setattr(wake, "wake_worker", wake_slowly)
    waker = wake.Waker()
    waker.ask()
    assert begun.acquire(timeout=PATIENCE_S)
    for _ in range(20):  # while the first wake-up is under way: a worker may have looked already
        waker.ask()
    may_go_on.release()
    assert begun.acquire(timeout=PATIENCE_S)
    may_go_on.release()
    assert waker.settle(PATIENCE_S)
    assert len(woken) == 2


def test_a_wake_up_that_fails_ends_no_waker(monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[None] = []

    def fail() -> bool:
        woken.append(None)
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(wake, "wake_worker", fail)
    waker = wake.Waker()
    for _ in range(2):
        waker.ask()
        assert waker.settle(PATIENCE_S)
    assert len(woken) == 2


def test_a_flag_whose_wake_up_was_lost_expires(sent: list[str]) -> None:
    assert wake.wake_worker()
    ttl_ms = wake.flag_client().pttl(wake.FLAG)
    assert isinstance(ttl_ms, int)
    assert 0 < ttl_ms <= wake.FLAG_S * 1000


def test_a_post_wakes_a_worker_once_its_rows_can_be_seen(open_door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def look() -> bool:
        thread = threading.Thread(target=lambda: seen.append(_count(open_door)))
        thread.start()
        thread.join()
        return True

    monkeypatch.setattr("ingest.endpoint.views.wake_soon", look)
    open_door.post([make_envelope("a"), make_envelope("b")])
    assert seen == [2]


def _count(door: Door) -> int:
    try:
        return len(door.receipts())
    finally:
        connection.close()


def test_a_post_of_which_nothing_was_taken_wakes_nobody(door: Door, sent: list[str]) -> None:
    door.post([])
    door.post([7])
    door.post(b"{")
    assert sent == []


def test_no_wake_up_holds_a_connection_of_the_pool(open_door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bool] = []
    monkeypatch.setattr("ingest.endpoint.views.wake_soon", lambda: held.append(connection.connection is not None))
    open_door.post(make_envelope("a"))
    assert held == [False]


def test_no_upload_holds_a_connection_of_the_pool(open_door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bool] = []

    def read(post: Post, max_bytes: int) -> bytes:
        held.append(connection.connection is not None)
        return read_sent(post, max_bytes)

    monkeypatch.setattr(views, "read_sent", read)
    assert open_door.post(make_envelope("a")).status == 202
    assert held == [False]


def test_after_a_failure_no_try_is_made_for_a_while(sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[float] = []

    def fail() -> None:
        tries.append(time.monotonic())
        raise OSError("gone")

    monkeypatch.setattr("ingest.notify.flag_client", fail)
    assert [wake.wake_worker() for _ in range(5)] == [False] * 5
    assert len(tries) == 1
    monkeypatch.setattr(wake, "PAUSE_S", 0.0)
    monkeypatch.setattr(wake, "_paused_until", 0.0)
    assert [wake.wake_worker() for _ in range(3)] == [False] * 3
    assert len(tries) == 4


def test_the_flag_of_a_wake_up_that_is_lost_is_not_kept_for_ever(sent: list[str]) -> None:
    assert wake.wake_worker()
    client = wake.flag_client()
    client.pexpire(wake.FLAG, PATIENCE_S * 1000 // 2)
    wake.keep_flag()
    assert client.pttl(wake.FLAG) > PATIENCE_S * 1000 // 2
    client.delete(wake.FLAG + wake.WAITS)  # as after LOST_S, in which nobody has taken the wake-up
    client.pexpire(wake.FLAG, PATIENCE_S * 1000 // 2)
    wake.keep_flag()
    assert client.pttl(wake.FLAG) <= PATIENCE_S * 1000 // 2
    client.delete(wake.FLAG)
    assert wake.wake_worker()
    assert len(sent) == 2


def test_another_process_may_wake_at_once_where_one_could_not(sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise OperationalError("the connection was lost while the broker's host was cut off")

    with monkeypatch.context() as patch:
        patch.setattr("ingest.notify.current_app.send_task", fail)
        assert not wake.wake_worker()
    assert not wake.flag_client().exists(wake.FLAG)
    monkeypatch.setattr(wake, "_paused_until", 0.0)  # only the process that failed pauses
    assert wake.wake_worker()
    assert sent == [wake.FOLD_TASK]
