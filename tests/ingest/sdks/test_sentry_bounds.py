"""What Sentry's SDK is answered, what its envelopes may not do, and what becomes of chunks when processes end."""

import gzip
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.db import connection
from pytest_django import Settings

from ingest import joining
from ingest.endpoint.admission import ADMISSION
from ingest.joining import expire_waiting, join_chunks
from ingest.storage import pending_chunks
from ingest.storage.store_pool import STORE_POOL
from profcore.errors import Reason
from profcore.trace.collection import Collection
from projects.collection import change_collection
from projects.key_cache import clear_keys
from projects.keys import change_origins, create_key, read_dsn_key, write_dsn_key
from projects.lifecycle import mark_for_deletion
from projects.models import IngestKey, Project
from tests.aggregate.posting import database_url
from tests.ingest.endpoint.posting import IngestServer
from tests.ingest.sdks.envelopes import (
    PROFILER,
    SHOP,
    age,
    chunk_envelope,
    count,
    join,
    make_child,
    make_chunk,
    make_envelope,
    make_segment,
    send,
    span_envelope,
    stored,
)
from tests.runner.waiting import wait_until


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("/sentry/api/{id}/envelope/?sentry_key={key}", {}),
        ("/sentry//api/{id}/envelope?sentry_key={key}", {}),
        ("/sentry/eu/api/{id}/envelope/?sentry_key={key}", {}),
        ("/sentry/api/{id}/envelope/", {"x_sentry_auth": "Sentry sentry_version=7, sentry_key={key}, sentry_client=a"}),
        ("/sentry/api/{id}/envelope/", {"x_sentry_auth": "Sentry sentry_key={key},sentry_version=7"}),
        ("/sentry/tunnel/", {}),
        ("/sentry/tunnel", {}),
    ],
)
def test_the_key_is_in_the_query_the_header_or_the_dsn(
    endpoint: IngestServer, address: str, headers: dict[str, str]
) -> None:
    written = write_dsn_key(endpoint.key)
    names = {"id": endpoint.project_id, "key": written}
    filled = {name: value.format(**names) for name, value in headers.items()}
    dsn = f"https://{written}@ff.example/sentry/{endpoint.project_id}"
    body = make_envelope(("profile_chunk", make_chunk()), dsn=dsn)
    for sent in (body, gzip.compress(body)):
        assert send(endpoint, sent, address=address.format(**names), **filled).status == 200
    assert count(endpoint, "ingest_pendingchunk") == 1


def test_a_key_is_one_of_its_project_and_of_allowed_origins(endpoint: IngestServer) -> None:
    for address in (
        f"/sentry/api/{endpoint.project_id + 1}/envelope/?sentry_key={endpoint.key}",
        f"/sentry/api/{endpoint.project_id}/envelope/?sentry_key=nobody",
        f"/sentry/api/{endpoint.project_id}/envelope/",
        "/sentry/tunnel/",
    ):
        answer = send(endpoint, chunk_envelope(), address=address)
        assert (answer.status, answer.reason) == (401, "unknown_key")
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
    change_origins(IngestKey.objects.get(public_key=endpoint.key), [SHOP])
    answer = send(endpoint, chunk_envelope(), origin="https://elsewhere.example")
    assert (answer.status, answer.headers["X-Sentry-Rate-Limits"]) == (403, "3600:profile:project")


def test_keys_are_parts_of_a_dsn(endpoint: IngestServer) -> None:
    new = create_key(project=Project.objects.get(), origins=["*"]).public_key
    assert write_dsn_key(new) == new
    assert new.isalnum()
    assert write_dsn_key("shop-key").isalnum()
    for key in (new, "shop-key", "a_b", "xyz", "é"):
        assert read_dsn_key(write_dsn_key(key)) == key


def test_a_preflight_allows_what_a_transport_with_headers_asks_for(endpoint: IngestServer) -> None:
    wanted = "content-type,sentry-trace,baggage,x-sentry-auth"
    answer = endpoint.ask("OPTIONS", address="/sentry/tunnel/", access_control_request_headers=wanted)
    assert answer.status == 204
    assert answer.headers["Access-Control-Allow-Headers"] == wanted
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert endpoint.ask("GET", address="/sentry/tunnel/").status == 405


def test_our_stop_is_a_rate_limit_of_profiles(endpoint: IngestServer, settings: Settings) -> None:
    change_collection(Project.objects.get(), Collection(off=True))
    answer = send(endpoint, chunk_envelope())
    assert (answer.status, answer.headers["X-Sentry-Rate-Limits"]) == (200, "3600:profile:project")
    change_collection(Project.objects.get(), Collection())
    settings.INGEST_MAX_TRACES_PER_DAY = 1
    assert "X-Sentry-Rate-Limits" not in send(endpoint, chunk_envelope(make_chunk(number=2))).headers
    answer = send(endpoint, chunk_envelope(make_chunk(number=3)))
    seconds, _, rest = answer.headers["X-Sentry-Rate-Limits"].partition(":")
    assert 0 < int(seconds) <= 86_400
    assert rest == "profile:project"
    assert endpoint.refusals() == {Reason.QUOTA_EXCEEDED: 1}
    assert count(endpoint, "ingest_pendingchunk") == 2


def test_a_rate_limit_says_for_how_long(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_RATE_PER_S = 1
    send(endpoint, chunk_envelope())
    answer = send(endpoint, chunk_envelope())
    assert (answer.status, answer.headers["X-Sentry-Rate-Limits"]) == (429, "1:profile:project")


def test_each_view_counts_for_the_days_quota(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_TRACES_PER_DAY = 2
    send(endpoint, span_envelope(*[make_segment(at / 20, f"{SHOP}/{at}x", number=at) for at in range(20, 24)]))
    assert send(endpoint, chunk_envelope()).status == 200
    assert join() == 1
    assert len(endpoint.receipts()) == 2
    assert endpoint.refusals() == {Reason.QUOTA_EXCEEDED: 2}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", Reason.INVALID_JSON),
        (b"[]\n", Reason.WRONG_TYPE),
        (b'{"event_id":"1"}\nno item', Reason.INVALID_JSON),
        (b'{}\n{"type":"profile_chunk","length":99}\n{}', Reason.INVALID_VALUE),
        (b'{}\n{"type":"profile_chunk","length":-1}\n{}', Reason.INVALID_VALUE),
        (b'{}\n{"type":"profile_chunk"}', Reason.INVALID_JSON),
        (b'{}\n{"type":"span"}\n[1]', Reason.WRONG_TYPE),
        (b'{}\n{"type":"span"}\n{"more":' + b"[" * 10_000, Reason.TOO_NESTED),
        (b"{}\n" + b'{"type":"session"}\n{}\n' * 101, Reason.TOO_MANY),
        (b"\x1f\x8bno gzip", Reason.INVALID_GZIP),
        (b"\xff\xfe", Reason.INVALID_JSON),
        (gzip.compress(b" " * 60_000_000), Reason.TOO_LARGE),
        (chunk_envelope(make_chunk(platform="python")), Reason.UNSUPPORTED_MEDIA),
        (chunk_envelope(make_chunk(release="r" * 201)), Reason.TOO_LONG),
        (chunk_envelope(make_chunk(count=0)), None),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(
    endpoint: IngestServer, body: bytes, reason: Reason | None
) -> None:
    answer = send(endpoint, body)
    assert answer.status == 200 if reason is None else 400 <= answer.status < 500
    assert "Access-Control-Allow-Origin" in answer.headers
    assert endpoint.refusals() == ({} if reason is None else {reason: 1})


def test_a_bad_item_leaves_the_others(endpoint: IngestServer) -> None:
    body = make_envelope(("profile_chunk", "{}"), ("profile_chunk", make_chunk()), ("span", "x"))
    assert send(endpoint, body).status == 200
    assert endpoint.refusals() == {Reason.MISSING_FIELD: 1, Reason.INVALID_JSON: 1}
    assert count(endpoint, "ingest_pendingchunk") == 1


def test_wild_numbers_and_texts_do_no_harm(endpoint: IngestServer) -> None:
    wild = [
        make_segment(number=2) | {"start_timestamp": 1e300},
        make_segment(number=3) | {"span_id": "not hex"},
        make_segment(number=4, own={"device.memory.estimated_capacity": -1, "device.processor_count": "many\0"}),
        make_segment(number=5, own={"url.full": "http://[\0"}),
        make_segment(number=6, own={"sentry.segment.name": "a\0b" * 500, "sentry.segment.name.source": "custom"}),
        make_child("ui.long_task", 5, 1, number=7),
        make_child("ui.long_task", -1e12, 1, number=8),
        make_child("ui.long_task", 1, 2, number=9) | {"span_id": "{}"},
        *[make_child("ui.long_task", 1, 1.1, number=at) for at in range(1_000, 1_300)],
    ]
    assert send(endpoint, span_envelope(make_segment(), *wild)).status == 200
    send(endpoint, chunk_envelope(make_chunk(client_sdk={}, chunk_id="odd", profiler_id=PROFILER.upper())))
    assert join() == 1
    assert len(stored(endpoint)[0]["marks"]) <= 100


def test_views_that_share_their_tables_are_not_written_a_hundred_times(endpoint: IngestServer) -> None:
    chunk = make_chunk(count=100)
    chunk["profile"]["stacks"] = [[0] * 5_000]
    for sample in chunk["profile"]["samples"]:
        sample["stack_id"] = 0
    segments = [make_segment(1 + at / 100, f"{SHOP}/page{at}x", number=at + 1) for at in range(100)]
    assert send(endpoint, span_envelope(*segments)).status == 200
    send(endpoint, chunk_envelope(chunk))
    assert join() == 1
    assert 2 <= len(endpoint.receipts()) <= 4
    assert endpoint.refusals() == {Reason.TOO_LARGE: 1}


def test_the_spans_of_a_project_are_bounded(endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_chunks, "MAX_SPANS", 5)
    monkeypatch.setattr(joining, "KEPT_SPANS", 4)
    for number in range(1, 8):
        ADMISSION.clear()
        send(endpoint, span_envelope(make_segment(number=number)))
    assert count(endpoint, "ingest_pagespan") == 5
    assert endpoint.refusals() == {Reason.TOO_MANY_PENDING: 2}
    with_age = "UPDATE ingest_pagespan SET received_at = now() - span_id::int * interval '1 minute' RETURNING span_id"
    endpoint.rows(with_age)
    expire_waiting()
    assert endpoint.rows("SELECT span_id::int FROM ingest_pagespan ORDER BY 1") == [(1,), (2,), (3,), (4,)]


def test_chunks_that_wait_are_bounded_as_traces_are(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_PENDING = 2
    statuses = []
    for number in range(1, 4):
        ADMISSION.clear()
        statuses.append(send(endpoint, chunk_envelope(make_chunk(number=number))).status)
    assert statuses == [200, 200, 429]
    assert endpoint.refusals() == {Reason.TOO_MANY_PENDING: 1}


def test_what_waited_is_deleted(endpoint: IngestServer) -> None:
    send(endpoint, span_envelope())
    send(endpoint, chunk_envelope())
    join()
    assert endpoint.rows("SELECT octet_length(body), user_agent FROM ingest_pendingchunk") == [(0, "")]
    expire_waiting()
    assert count(endpoint, "ingest_pagespan") == count(endpoint, "ingest_pendingchunk") == 1
    endpoint.rows("UPDATE ingest_pagespan SET received_at = now() - interval '25 hours' RETURNING 1")
    endpoint.rows("UPDATE ingest_pendingchunk SET joined_at = now() - interval '2 hours' RETURNING 1")
    expire_waiting()
    assert count(endpoint, "ingest_pagespan") == count(endpoint, "ingest_pendingchunk") == 0


def test_a_chunk_that_breaks_us_holds_up_no_other(endpoint: IngestServer) -> None:
    send(endpoint, span_envelope())
    send(endpoint, chunk_envelope(make_chunk(number=1)))
    endpoint.rows("UPDATE ingest_pendingchunk SET body = 'no gzip' RETURNING 1")
    send(endpoint, chunk_envelope(make_chunk(61, number=2)))
    assert join() == 2
    assert len(endpoint.receipts()) == 1
    assert endpoint.refusals() == {Reason.FOLD_ERROR: 1}


def test_a_project_with_many_chunks_leaves_time_for_others(
    endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "TURN_S", 0.0)
    key = create_key(project=Project.objects.create(slug="other", name="Other"), origins=["*"])
    for number in (1, 2, 3):
        send(endpoint, chunk_envelope(make_chunk(number, number=number)))
    send(IngestServer(key.project_id, key.public_key), chunk_envelope())
    assert join(100) == 2
    assert join(0) == 1


def test_a_project_that_is_being_deleted_gets_no_traces(endpoint: IngestServer) -> None:
    send(endpoint, span_envelope())
    send(endpoint, chunk_envelope())
    mark_for_deletion(Project.objects.get())
    age(100)
    assert join_chunks() == 0
    assert endpoint.receipts() == []


def test_two_workers_store_a_chunk_once(open_endpoint: IngestServer) -> None:
    send(open_endpoint, span_envelope())
    for number in range(1, 9):
        send(open_endpoint, chunk_envelope(make_chunk(number, number=number)))
    age(40)
    with ThreadPoolExecutor(4) as pool:
        joined = list(pool.map(lambda _: run_apart(join_chunks), range(4)))
    assert sum(joined) == len(open_endpoint.receipts()) == 8


def run_apart(work: Callable[[], int]) -> int:
    """Runs work in this thread, and closes its connection."""
    try:
        return work()
    finally:
        connection.close()


KILLED = """
import os, signal
from ingest import joining
store = joining.store_arrivals
def store_and_die(**given):
    store(**given)
    os.kill(os.getpid(), signal.SIGKILL)
joining.store_arrivals = store_and_die
joining.join_chunks()
"""


@pytest.mark.kills
@pytest.mark.slow(10)
def test_nothing_that_was_answered_is_lost_by_a_kill(open_endpoint: IngestServer) -> None:
    """The web process ends between chunk and span, and the worker in the middle of a join."""
    assert send(open_endpoint, chunk_envelope()).status == 200
    STORE_POOL.close()
    ADMISSION.clear()
    clear_keys()
    assert send(open_endpoint, span_envelope()).status == 200
    age(40)
    environment = {"DATABASE_URL": database_url(), "FIELDFLAME_SECRET_KEY": settings.SECRET_KEY}
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "shell", "-v", "0", "-c", KILLED]
    killed = subprocess.run(command, env={**os.environ, **environment}, check=False, capture_output=True, timeout=200)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert open_endpoint.receipts() == []
    wait_until(lambda: join_chunks() == 1)  # until the server has seen that the process is gone, its lock holds
    assert (len(open_endpoint.receipts()), open_endpoint.pages()) == (1, ["/product/:id"])
    assert join_chunks() == 0
