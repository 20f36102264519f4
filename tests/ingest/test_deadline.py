"""A post waits for the database as long as its deadline lasts; everybody else as the pool says."""

import os
from typing import Any

import psycopg
import pytest
from django.conf import settings
from psycopg_pool import ConnectionPool, PoolTimeout

from ingest.deadline import DeadlineConnection, DeadlineExceeded, wait_until_deadline, with_deadline


def test_without_deadline_the_pool_decides() -> None:
    assert wait_until_deadline(lambda **given: given, "store") == {}


def test_all_waits_together_use_the_deadline_up(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 0.7, 10.0, 10.9, 20.0, 20.0])
    monkeypatch.setattr("ingest.deadline.time.monotonic", lambda: next(times))
    with with_deadline(1.0):
        given = [wait_until_deadline(lambda timeout: timeout, "store") for _ in range(3)]
    assert given == pytest.approx([1.0, 0.3, 0.01])


def test_a_pool_that_has_none_in_time_is_out_of_deadline() -> None:
    def fail(timeout: float) -> None:
        raise PoolTimeout(f"none within {timeout} s")

    with with_deadline(1.0), pytest.raises(DeadlineExceeded):
        wait_until_deadline(fail, "store")
    assert issubclass(DeadlineExceeded, psycopg.OperationalError)


class LongAway(DeadlineConnection):
    """A connection to a server that is away for so many attempts that waits which double would take two minutes."""

    failures = 16

    @classmethod
    def connect(cls, *args: Any, **options: Any) -> "LongAway":  # Any: as psycopg's
        LongAway.failures -= 1
        if LongAway.failures > 0:
            raise psycopg.OperationalError("the server is away")
        return super().connect(*args, **options)


@pytest.mark.slow(10)
def test_a_pool_has_connections_again_soon_after_the_server_is_back() -> None:
    """However long it was away. Nobody else asks for a connection, as in a worker."""
    databases: dict[str, Any] = settings.DATABASES  # Any: Django's options
    options = databases["default"]["OPTIONS"]["pool"] | {"connection_class": LongAway}
    with ConnectionPool(os.environ["DATABASE_URL"], **options, open=True) as pool:
        pool.putconn(pool.getconn(timeout=60))
    assert LongAway.failures <= 0
