"""Threads that share a statement: who writes for whom, what a fault costs the others, and how long anybody waits."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import pytest
from django.db import DataError, Error, OperationalError

from ingest.deadline import DeadlineExceeded, with_deadline
from ingest.storage.group_commit import FlushPolicy, GroupCommit, PendingWrite
from tests.runner.waiting import wait_until

LIMIT_S = 120.0  # the machine may be busy
SHOP, BLOG = 1, 2
# The first statement is slow, and on a busy machine it is not taken for one that has stalled.
POLICY = FlushPolicy(
    gather_s=0.0, stalled_s=LIMIT_S, most_under_way=4, max_rows=200, max_bytes=4 * 2**20, deadline_s=LIMIT_S
)


class Table:
    """What is written, statement by statement. The first statement of a project stops until it is released."""

    def __init__(self) -> None:
        self.statements: list[list[str]] = []
        self.first = threading.Event()
        self.is_released = threading.Event()
        self.faults: dict[str, Callable[[], Exception]] = {}
        self.writes = GroupCommit(self.write_all, POLICY)
        self._pool = ThreadPoolExecutor(100)

    def write_all(self, writes: Sequence[PendingWrite]) -> None:
        items = [write.rows[0][0] for write in writes]
        self.statements.append(items)
        if not self.first.is_set():
            self.first.set()
            assert self.is_released.wait(LIMIT_S)
        for item in items:
            if item in self.faults:
                raise self.faults[item]()

    def set_policy(self, **bounds: float) -> None:
        self.writes.policy = replace(POLICY, **bounds)  # type: ignore[arg-type]  # some of its fields

    def write(self, item: str, project_id: int = SHOP, rows: int = 1) -> None:
        """Writes an item that has so many rows, each with a body of one byte."""
        at = datetime(2026, 11, 27, tzinfo=UTC)
        self.writes.write(PendingWrite(project_id=project_id, received_at=at, rows=[(item, b"x")] * rows))

    def begin(self, item: str, project_id: int = SHOP, rows: int = 1) -> "Future[None]":
        """Writes an item in a thread of its own."""
        return self._pool.submit(self.write, item, project_id, rows)

    def begin_waiting(self, *items: str) -> "list[Future[None]]":
        """Writes items in threads of their own, in this order, and waits until all of them wait."""
        before = self.count_waiting()
        futures = []
        for number, item in enumerate(items, before + 1):
            futures.append(self.begin(item))
            self.wait_for(number)
        return futures

    def wait_for(self, count: int) -> None:
        """Waits until so many threads wait."""
        wait_until(lambda: self.count_waiting() == count)

    def count_waiting(self) -> int:
        return len(self.writes._waiting)


@pytest.fixture
def table() -> Iterator[Table]:
    table = Table()
    yield table
    table.is_released.set()
    table._pool.shutdown()


@contextmanager
def first_under_way(table: Table) -> "Iterator[Future[None]]":
    """Keeps the first statement under way, and releases it at the end."""
    future = table.begin("first")
    assert table.first.wait(LIMIT_S)
    yield future
    table.is_released.set()


def test_a_lone_write_waits_for_nobody(table: Table) -> None:
    table.is_released.set()
    for name in ("a", "b"):
        table.write(name)
    assert table.statements == [["a"], ["b"]]


def test_what_comes_while_one_writes_is_written_by_one_statement_in_its_order(table: Table) -> None:
    with first_under_way(table) as first:
        others = table.begin_waiting("a", "b", "c", "d")
    assert [future.result(LIMIT_S) for future in (first, *others)] == [None] * 5
    assert table.statements == [["first"], ["a", "b", "c", "d"]]


def test_nobody_returns_before_its_own_item_is_written(table: Table) -> None:
    with first_under_way(table) as first:
        (other,) = table.begin_waiting("a")
        assert not first.done()
        assert not other.done()
    other.result(LIMIT_S)
    assert table.statements[-1] == ["a"]


@pytest.mark.parametrize("bound", ["max_rows", "max_bytes"])
def test_a_statement_has_a_bound_of_rows_and_bytes(table: Table, bound: str) -> None:
    table.set_policy(**{bound: 4})
    with first_under_way(table):
        others = [table.begin(name, rows=2) for name in "ab"]
        table.wait_for(2)
        others += [table.begin("large", rows=9)]
        table.wait_for(3)
    for future in others:
        future.result(LIMIT_S)
    assert sorted(map(sorted, table.statements[1:])) == [["a", "b"], ["large"]]


def test_another_project_waits_for_nobody_of_the_first_and_shares_no_statement(table: Table) -> None:
    with first_under_way(table) as first:
        others = table.begin_waiting("a")
        table.begin("blog's", BLOG).result(LIMIT_S)
        assert not first.done()
    assert others[0].result(LIMIT_S) is None
    assert table.statements == [["first"], ["blog's"], ["a"]]


def test_all_statements_together_have_a_bound(table: Table) -> None:
    table.set_policy(most_under_way=1)
    with first_under_way(table):
        other = table.begin("blog's", BLOG)
        table.wait_for(1)
    other.result(LIMIT_S)
    assert table.statements == [["first"], ["blog's"]]


def test_a_statement_that_stalls_holds_the_project_up_for_a_moment_only(table: Table) -> None:
    table.set_policy(stalled_s=0.01)
    with first_under_way(table) as first:
        table.begin("a").result(LIMIT_S)
        assert not first.done()


def test_what_is_wrong_with_one_item_fails_only_that_one(table: Table) -> None:
    table.faults["poisoned"] = lambda: DataError("a text with NUL")
    with first_under_way(table):
        a, poisoned, b = table.begin_waiting("a", "poisoned", "b")
    assert (a.result(LIMIT_S), b.result(LIMIT_S)) == (None, None)
    with pytest.raises(DataError, match="NUL"):
        poisoned.result(LIMIT_S)
    assert table.statements == [["first"], ["a", "poisoned", "b"], ["a"], ["poisoned"], ["b"]]


def test_a_fault_of_our_own_code_fails_only_its_item_too(table: Table) -> None:
    table.faults["odd"] = lambda: TypeError("not a database error")
    with first_under_way(table):
        odd, b = table.begin_waiting("odd", "b")
    assert b.result(LIMIT_S) is None
    with pytest.raises(TypeError):
        odd.result(LIMIT_S)


def refuse_as(state: str | None) -> Error:
    """Returns Django's error for an SQL state, or for none, as when the connection is lost."""
    error = OperationalError("the server says so")
    error.__cause__ = psycopg.OperationalError("lost") if state is None else psycopg.errors.lookup(state)("said")
    return error


@pytest.mark.parametrize("state", [None, "57P01", "08006"])
def test_an_outage_is_answered_to_all_and_tried_once(table: Table, state: str | None) -> None:
    table.faults["a"] = lambda: refuse_as(state)
    with first_under_way(table):
        others = table.begin_waiting("a", "b", "c")
    errors = [future.exception(LIMIT_S) for future in others]
    assert [type(error) for error in errors] == [OperationalError] * 3
    assert len({id(error) for error in errors}) == 3  # each thread has an error of its own
    assert table.statements == [["first"], ["a", "b", "c"]]


@pytest.mark.parametrize("state", ["40P01", "55P03", "57014"])
def test_a_statement_that_the_server_ended_is_tried_for_each_alone(table: Table, state: str) -> None:
    table.faults["a"] = lambda: refuse_as(state)
    with first_under_way(table):
        others = table.begin_waiting("a", "b")
    assert [type(future.exception(LIMIT_S)) for future in others] == [OperationalError, type(None)]


def test_an_outage_while_each_is_tried_alone_ends_the_tries(table: Table) -> None:
    table.faults.update(a=lambda: DataError("wrong"), b=lambda: refuse_as(None))
    with first_under_way(table):
        others = table.begin_waiting("a", "b", "c")
    assert [type(future.exception(LIMIT_S)) for future in others] == [DataError, OperationalError, OperationalError]
    assert table.statements[2:] == [["a"], ["b"]]


def test_a_thread_that_is_ended_while_it_writes_leaves_nobody_waiting(table: Table) -> None:
    def end() -> Exception:
        raise SystemExit

    table.faults["a"] = end
    with first_under_way(table):
        a, b = table.begin_waiting("a", "b")
    assert isinstance(a.exception(LIMIT_S), SystemExit)
    assert isinstance(b.exception(LIMIT_S), OperationalError)
    del table.faults["a"]
    assert table.begin("later").result(LIMIT_S) is None


def test_a_write_past_its_deadline_is_answered_and_not_written(table: Table) -> None:
    def hurry() -> None:
        with with_deadline(0.01):
            table.write("hurried")

    with first_under_way(table), ThreadPoolExecutor() as pool:
        error = pool.submit(hurry).exception(LIMIT_S)
        assert isinstance(error, OperationalError)
        assert isinstance(error.__cause__, DeadlineExceeded)
        assert table.count_waiting() == 0
        (other,) = table.begin_waiting("a")
    other.result(LIMIT_S)
    assert table.statements == [["first"], ["a"]]


def test_a_hundred_threads_write_each_item_once(table: Table) -> None:
    table.is_released.set()
    names = [str(number) for number in range(2_000)]
    for future in [table.begin(name, project_id=number % 3) for number, name in enumerate(names)]:
        future.result(LIMIT_S)
    assert sorted(name for statement in table.statements for name in statement) == sorted(names)
    assert (table.count_waiting(), dict(table.writes._under_way)) == (0, {})
