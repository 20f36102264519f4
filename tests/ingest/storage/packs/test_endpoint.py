"""The endpoint with an object store: a 202 says that the body is in a pack, and that its row names it."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError
from pytest_django import Settings

from aggregate.raw_bodies import load_raw_bodies
from ingest.storage.packs.format import PackedBody
from ingest.storage.packs.mark import MARK
from ingest.storage.packs.placing import name_of, place_bodies, read_name
from ingest.storage.store_pool import STORE_POOL
from profcore.caching import clear_caches
from tests.envelopes import make_envelope, view_id_of
from tests.ingest.endpoint.posting import IngestServer
from tests.object_stores import MemoryStore

PACKS = "SELECT id, traces, tidy_at IS NOT NULL, doomed_at IS NOT NULL FROM ingest_pack ORDER BY id"


def read_bodies(endpoint: IngestServer) -> dict[tuple[UUID, int], bytes]:
    traces = endpoint.rows("SELECT view_id, seq, received_at FROM ingest_rawtrace")
    return {key: body.expand() for key, body in load_raw_bodies(endpoint.project_id, traces).items()}


def test_bodies_lie_in_a_pack_and_none_in_the_database(open_endpoint: IngestServer, objects: MemoryStore) -> None:
    envelopes = [make_envelope(name, f"{name.upper()} B") for name in ("a", "b", "c")]
    assert open_endpoint.post(envelopes).status == 202
    assert open_endpoint.rows("SELECT DISTINCT octet_length(body) FROM ingest_rawtrace") == [(0,)]
    (name,) = objects.packs
    ((pack_id, *state),) = open_endpoint.rows(PACKS)
    assert state == [3, False, False]
    parts = read_name(name)
    assert parts is not None
    assert (parts[0], parts[2]) == (open_endpoint.project_id, pack_id)
    assert read_bodies(open_endpoint).keys() == {(UUID(view_id_of(name)), 0) for name in ("a", "b", "c")}
    assert open_endpoint.rows("SELECT sum(bytes) FROM ingest_daybytes") == open_endpoint.rows(
        "SELECT bytes FROM ingest_pack"
    )
    assert open_endpoint.rows("SELECT sum(pack_length) FROM ingest_rawtrace") == open_endpoint.rows(
        "SELECT bytes FROM ingest_pack"
    )


@pytest.mark.usefixtures("bucket")
def test_a_body_comes_back_from_a_server_as_it_was_posted(open_endpoint: IngestServer) -> None:
    sent = json.dumps(make_envelope("a", "A B\nC"), indent=1).encode()
    assert open_endpoint.post(sent).status == 202
    assert read_bodies(open_endpoint) == {(UUID(view_id_of("a")), 0): sent}


def test_the_object_is_written_before_the_rows(
    open_endpoint: IngestServer, objects: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = STORE_POOL.execute_with_retry

    def see(*args: object) -> None:
        assert len(objects.packs) == 1
        assert open_endpoint.receipts() == []
        store(*args)  # type: ignore[arg-type]  # handed on

    monkeypatch.setattr(STORE_POOL, "execute_with_retry", see)
    assert open_endpoint.post(make_envelope("a")).status == 202


def test_a_store_that_is_away_is_answered_503_and_nothing_is_stored(
    open_endpoint: IngestServer, objects: MemoryStore
) -> None:
    objects.be_away()
    answer = open_endpoint.post(make_envelope("a"))
    assert (answer.status, answer.reason, answer.headers["Retry-After"]) == (503, "unavailable", "10")
    assert open_endpoint.receipts() == []
    objects.be_back()
    assert open_endpoint.post(make_envelope("a")).status == 202
    assert len(open_endpoint.receipts()) == len(read_bodies(open_endpoint)) == 1


def test_a_database_that_is_away_after_the_object_leaves_an_orphan_and_no_receipt(
    open_endpoint: IngestServer, objects: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise OperationalError("the database of this test is away")

    with monkeypatch.context() as patch:
        patch.setattr(STORE_POOL, "execute_with_retry", fail)
        assert open_endpoint.post(make_envelope("a")).status == 503
    assert (len(objects.packs), open_endpoint.receipts(), open_endpoint.rows(PACKS)) == (1, [], [])
    assert open_endpoint.post(make_envelope("a")).status == 202
    assert len(open_endpoint.receipts()) == 1


def test_a_pack_with_a_trace_that_is_known_waits_to_be_tidied(
    open_endpoint: IngestServer, objects: MemoryStore
) -> None:
    open_endpoint.post(make_envelope("a", "A"))
    assert open_endpoint.post([make_envelope("a", "Another"), make_envelope("b")]).status == 202
    assert [state for _, *state in open_endpoint.rows(PACKS)] == [[1, False, False], [1, True, False]]
    assert b"Another" not in b"".join(read_bodies(open_endpoint).values())


def test_a_pack_with_nothing_new_is_doomed(open_endpoint: IngestServer, objects: MemoryStore) -> None:
    open_endpoint.post(make_envelope("a"))
    assert open_endpoint.post(make_envelope("a")).status == 202
    assert [state for _, *state in open_endpoint.rows(PACKS)] == [[1, False, False], [0, False, True]]
    assert len(read_bodies(open_endpoint)) == 1


def test_a_statement_whose_pack_was_condemned_fails_and_its_posts_are_stored_with_another(
    open_endpoint: IngestServer, objects: MemoryStore
) -> None:
    def condemn(operation: str, name: str) -> None:
        parts = read_name(name)
        if operation == "put" and parts is not None:
            objects.be_back()
            open_endpoint.rows(
                f"""INSERT INTO ingest_pack (project_id, id, day_on, traces, bytes, doomed_at)
                    VALUES ({parts[0]}, '{parts[2]}', '{parts[1]}', 0, 0, now()) RETURNING 1"""
            )

    open_endpoint.post(make_envelope("before"))
    objects.before = condemn
    assert open_endpoint.post(make_envelope("a")).status == 503
    assert len(open_endpoint.receipts()) == 1
    assert open_endpoint.post(make_envelope("a")).status == 202
    assert len(read_bodies(open_endpoint)) == 2


def test_a_statement_that_runs_twice_because_its_connection_was_lost_changes_nothing(
    open_endpoint: IngestServer, objects: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = STORE_POOL.execute_with_retry

    def run_twice(*args: object) -> None:
        store(*args)  # type: ignore[arg-type]  # handed on
        store(*args)  # type: ignore[arg-type]  # as above

    monkeypatch.setattr(STORE_POOL, "execute_with_retry", run_twice)
    assert open_endpoint.post(make_envelope("a")).status == 202
    assert [state for _, *state in open_endpoint.rows(PACKS)] == [[1, False, False]]
    assert len(read_bodies(open_endpoint)) == 1


def test_bodies_of_two_days_are_in_two_packs(open_endpoint: IngestServer, objects: MemoryStore) -> None:
    days = [datetime(2026, 11, day, 23, 59, 59, tzinfo=UTC) for day in (22, 23, 22)]
    bodies = [PackedBody(view_id=uuid4(), seq=0, received_at=at, body=b"b%d" % at.day) for at in days]
    places = place_bodies(open_endpoint.project_id, bodies)
    assert len(objects.packs) == 2
    for at, place in zip(days, places, strict=True):
        content = objects.packs[name_of(open_endpoint.project_id, at.date(), place.pack_id)]
        assert content[place.offset : place.offset + place.length] == b"b%d" % at.day


def test_with_the_setting_off_new_bodies_go_to_the_database_and_old_ones_are_read(
    open_endpoint: IngestServer, objects: MemoryStore, settings: Settings
) -> None:
    open_endpoint.post(make_envelope("a"))
    settings.OBJECTS_PUT = False
    open_endpoint.post(make_envelope("b"))
    assert objects.puts() == 1
    assert len(read_bodies(open_endpoint)) == 2


def test_a_bucket_without_a_mark_is_not_written_to_if_there_are_packs_elsewhere(
    open_endpoint: IngestServer, objects: MemoryStore
) -> None:
    open_endpoint.post(make_envelope("a"))
    objects.objects.clear()
    clear_caches()
    assert open_endpoint.post(make_envelope("b")).status == 503
    assert objects.objects == {}


def test_a_bucket_is_marked_once(open_endpoint: IngestServer, objects: MemoryStore) -> None:
    for name in ("a", "b"):
        open_endpoint.post(make_envelope(name))
    assert [operation for operation, name in objects.done if name == MARK] == ["read", "put"]


def test_the_library_is_not_loaded_before_it_is_needed() -> None:
    code = "import django, sys; django.setup(); import aggregate.tasks, config.wsgi; print('obstore' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
