"""Posts that arrive at the same time share a statement: each is answered for itself, and once its rows are durable."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import DataError, OperationalError, connection

from ingest.storage import storing
from ingest.storage.group_commit import PendingWrite
from ingest.storage.storing import GROUP_COMMIT
from projects.creation import create_project
from tests.envelopes import make_envelope, view_id_of
from tests.ingest.endpoint.posting import IngestResponse, IngestServer
from tests.partitions import drop_made_partitions
from tests.runner.waiting import wait_until

pytestmark = pytest.mark.slow(10)

LIMIT_S = 120.0  # the machine may be busy
Begin = Callable[..., "Future[IngestResponse]"]


class Statements:
    """The statements of this process. The first one is not begun until it is released."""

    def __init__(self) -> None:
        self.posts: list[int] = []
        self.fault: Callable[[Sequence[PendingWrite]], None] = lambda posts: None
        self.is_begun, self.is_released = threading.Event(), threading.Event()

    def store(self, posts: Sequence[PendingWrite]) -> None:
        self.posts.append(len(posts))
        if not self.is_begun.is_set():
            self.is_begun.set()
            assert self.is_released.wait(LIMIT_S)
        self.fault(posts)
        storing._store(posts)

    def wait_for(self, waiting: int) -> None:
        wait_until(
            lambda: len(GROUP_COMMIT._waiting) == waiting,
            lambda: f"{len(GROUP_COMMIT._waiting)} posts wait, not {waiting}",
        )


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[Statements]:
    """The statements, of which the first is slow and not taken for one that has stalled."""
    statements = Statements()
    monkeypatch.setattr(GROUP_COMMIT, "policy", replace(GROUP_COMMIT.policy, stalled_s=LIMIT_S, deadline_s=LIMIT_S))
    monkeypatch.setattr(GROUP_COMMIT, "write_all", statements.store)
    yield statements
    statements.is_released.set()


@pytest.fixture
def begin(open_endpoint: IngestServer, statements: Statements) -> Iterator[Begin]:
    """Posts envelopes in a thread of its own. The first post is under way until it is released; the others wait."""

    def post(envelopes: object, key: str) -> IngestResponse:
        try:
            return open_endpoint.post(envelopes, key=key)
        finally:
            connection.close()

    with ThreadPoolExecutor(100) as pool:

        def begin(*envelopes: object, key: str = open_endpoint.key) -> "Future[IngestResponse]":
            waiting = len(GROUP_COMMIT._waiting)
            future = pool.submit(post, envelopes[0] if len(envelopes) == 1 else list(envelopes), key)
            if statements.is_begun.is_set():
                statements.wait_for(waiting + 1)
            else:
                assert statements.is_begun.wait(LIMIT_S)
            return future

        yield begin
        statements.is_released.set()


def answers(statements: Statements, *futures: "Future[IngestResponse]") -> list[int]:
    """Releases the first statement; returns the statuses of all answers."""
    statements.is_released.set()
    return [future.result(LIMIT_S).status for future in futures]


def test_one_statement_stores_what_came_while_another_was_under_way(
    open_endpoint: IngestServer, statements: Statements, begin: Begin
) -> None:
    futures = [begin(make_envelope(str(n), f"F{n}")) for n in range(6)]
    assert answers(statements, *futures) == [202] * 6
    assert statements.posts == [1, 5]
    assert len(open_endpoint.receipts()) == len(open_endpoint.bodies()) == 6


def test_each_post_of_a_statement_keeps_its_own_time_body_and_agent(
    open_endpoint: IngestServer, statements: Statements, begin: Begin
) -> None:
    futures = [begin(make_envelope("first"))]
    futures += [begin(make_envelope(name, name, page=f"/{name}", sampleRate=0.5)) for name in ("a", "b")]
    assert answers(statements, *futures) == [202] * 3
    pages = open_endpoint.rows(
        """SELECT g.page, r.view_id::text, r.sample_rate, r.received_at = w.received_at, r.received_at
           FROM ingest_tracereceipt r JOIN ingest_group g ON (g.project_id, g.id) = (r.project_id, r.group_id)
           JOIN ingest_rawtrace w ON (w.project_id, w.view_id, w.seq) = (r.project_id, r.view_id, r.seq)
           WHERE g.page IN ('/a', '/b') ORDER BY 1"""
    )
    assert [row[:4] for row in pages] == [(f"/{n}", view_id_of(n), 0.5, True) for n in ("a", "b")]
    assert pages[0][4] < pages[1][4]


def test_a_trace_that_is_twice_in_a_statement_is_stored_once_and_both_are_accepted(
    open_endpoint: IngestServer, statements: Statements, begin: Begin
) -> None:
    first, second = make_envelope("a", "Earlier"), make_envelope("a", "Later")
    futures = [begin(make_envelope("first")), begin(first), begin(second), begin(make_envelope("a", "C", seq=1))]
    assert answers(statements, *futures) == [202] * 4
    assert statements.posts == [1, 3]
    stored = open_endpoint.bodies()
    assert len(stored) == 3
    assert [sum(name in body for body in stored) for name in (b"Earlier", b"Later")] == [1, 0]
    kept = open_endpoint.rows("SELECT sum(octet_length(body)) FROM ingest_rawtrace")
    assert open_endpoint.rows("SELECT sum(bytes) FROM ingest_daybytes") == kept


def test_the_bytes_of_each_day_are_counted_once_a_statement(
    open_endpoint: IngestServer, statements: Statements, begin: Begin
) -> None:
    futures = [begin(make_envelope(str(n))) for n in range(5)]
    assert answers(statements, *futures) == [202] * 5
    assert open_endpoint.rows("SELECT sum(bytes) FROM ingest_daybytes") == open_endpoint.rows(
        "SELECT sum(octet_length(body)) FROM ingest_rawtrace"
    )


def test_a_post_that_cannot_be_stored_is_refused_alone(
    open_endpoint: IngestServer, statements: Statements, begin: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(posts: Sequence[PendingWrite]) -> None:
        if any(b"Poison" in row[-1] for post in posts for row in post.rows):
            raise DataError("something that the server does not take")

    statements.fault = refuse
    futures = [begin(make_envelope(str(n), "Poison" if n == 2 else "A")) for n in range(5)]
    assert answers(statements, *futures) == [202, 202, 503, 202, 202]
    assert len(open_endpoint.bodies()) == 4
    assert caplog.text.count("Traceback") == 1


def test_what_the_server_itself_does_not_take_is_refused_alone(
    open_endpoint: IngestServer, statements: Statements, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number beyond its column, as if the endpoint had let it through."""
    make_row = storing._make_row
    monkeypatch.setattr(
        storing,
        "_make_row",
        lambda project_id, arrival, *rest: tuple(
            str(2**40) if name == "seq" and arrival.envelope.seq == 7 else value
            for name, value in zip(storing.COLUMNS, make_row(project_id, arrival, *rest), strict=True)
        ),
    )
    futures = [begin(make_envelope(str(n), seq=7 if n == 2 else 0)) for n in range(4)]
    assert answers(statements, *futures) == [202, 202, 503, 202]
    assert len(open_endpoint.bodies()) == 3


def test_an_outage_is_answered_to_all_and_nothing_is_half_stored(
    open_endpoint: IngestServer, statements: Statements, begin: Begin
) -> None:
    def fail(posts: Sequence[PendingWrite]) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    statements.fault = fail
    futures = [begin(make_envelope(str(n))) for n in range(5)]
    assert answers(statements, *futures) == [503] * 5
    assert all(future.result().headers["Retry-After"] == "10" for future in futures)
    assert statements.posts == [1, 4]
    assert (open_endpoint.receipts(), open_endpoint.bodies()) == ([], [])
    statements.fault = lambda posts: None
    assert open_endpoint.post(make_envelope("later")).status == 202


def test_a_missing_partition_is_made_for_all(open_endpoint: IngestServer, statements: Statements, begin: Begin) -> None:
    day = datetime.now(UTC) + timedelta(days=40)
    name = f"ingest_rawtrace_{day:%Y%m%d}"
    try:
        with time_machine.travel(day, tick=True):
            futures = [begin(make_envelope(str(n))) for n in range(4)]
            assert answers(statements, *futures) == [202] * 4
        assert open_endpoint.rows(f"SELECT count(*) FROM {name}") == [(4,)]
    finally:
        drop_made_partitions(day)


def test_projects_share_no_statement(open_endpoint: IngestServer, statements: Statements, begin: Begin) -> None:
    create_project(slug="blog", key="blog-key", origins=["*"])
    first = begin(make_envelope("a"))
    with ThreadPoolExecutor() as pool:
        other = pool.submit(open_endpoint.post, make_envelope("b"), key="blog-key")
        assert other.result(LIMIT_S).status == 202  # while the first project's statement is under way
    assert answers(statements, first) == [202]
    assert statements.posts == [1, 1]
