"""A post waits for the database as long as its patience lasts; everybody else as the pool says."""

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from ingest.patience import OutOfPatience, wait_patiently, with_patience


def test_without_patience_the_pool_decides() -> None:
    assert wait_patiently(lambda **given: given, "store") == {}


def test_all_waits_together_use_the_patience_up(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 0.7, 10.0, 10.9, 20.0, 20.0])
    monkeypatch.setattr("ingest.patience.time.monotonic", lambda: next(times))
    with with_patience(1.0):
        given = [wait_patiently(lambda timeout: timeout, "store") for _ in range(3)]
    assert given == pytest.approx([1.0, 0.3, 0.01])


def test_a_pool_that_has_none_in_time_is_out_of_patience() -> None:
    def fail(timeout: float) -> None:
        raise PoolTimeout(f"none within {timeout} s")

    with with_patience(1.0), pytest.raises(OutOfPatience):
        wait_patiently(fail, "store")
    assert issubclass(OutOfPatience, psycopg.OperationalError)
