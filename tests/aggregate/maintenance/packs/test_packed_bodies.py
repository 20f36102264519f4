"""Folding, refolding and reading bodies that lie in packs."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from aggregate.fold.pending import fold_pending_batch
from aggregate.maintenance.erasing import erase_view
from aggregate.maintenance.packs.orphans import ORPHAN_AGE, delete_orphans
from aggregate.maintenance.packs.tidying import tidy_packs
from aggregate.raw_bodies import iter_first_bodies, load_raw_bodies
from aggregate.selectors.page_views.traces import select_raw_body
from ingest.storage.packs.format import PackedBody
from ingest.storage.packs.mark import MARK
from ingest.storage.packs.placing import place_bodies
from ingest.storage.packs.store import BodiesUnavailable
from projects.models import Project
from tests.aggregate.old_views import NOW, old_views
from tests.aggregate.posting import everything, fold_all, post, rows
from tests.envelopes import make_envelope, view_id_of
from tests.object_stores import MemoryStore

pytestmark = pytest.mark.django_db

Traces = list[tuple[UUID, int, datetime]]


def stored() -> Traces:
    return rows("SELECT view_id, seq, received_at FROM ingest_rawtrace ORDER BY 1, 2")


def pending() -> list[tuple[Any, ...]]:  # Any: as the driver types rows
    return rows("SELECT state, attempts, crashes FROM ingest_tracereceipt")


def test_the_sums_are_those_of_bodies_in_the_database(key: str, objects: MemoryStore, settings: Settings) -> None:
    settings.OBJECTS_PUT = False
    post(key, *old_views())
    fold_all()
    before = everything()
    call_command("erase_view", "--project", "shop", *(view["viewId"] for view in old_views()))
    settings.OBJECTS_PUT = True
    for view in old_views():
        post(key, view)
    fold_all()
    assert everything() == before
    assert objects.puts() == len(old_views())
    call_command("refold", "--project", "shop")
    assert everything() == before


@pytest.mark.usefixtures("bucket")
def test_a_server_of_the_interface_gives_the_same_sums(key: str, settings: Settings) -> None:
    for view in old_views():
        post(key, view)
    fold_all()
    before = everything()
    call_command("refold", "--project", "shop")
    call_command("erase_view", "--project", "shop", view_id_of("v0"))
    assert tidy_packs(datetime.now(UTC)) == 1
    assert everything() != before
    project_id = Project.objects.get().pk
    place_bodies(project_id, [PackedBody(view_id=uuid4(), seq=0, received_at=datetime.now(UTC), body=b"orphan")])
    assert delete_orphans(datetime.now(UTC) + 2 * ORPHAN_AGE) == 1
    assert len(load_raw_bodies(project_id, stored())) == len(stored())


def test_a_store_that_is_away_costs_no_attempt(transactional_db: None, key: str, objects: MemoryStore) -> None:
    post(key, make_envelope("a"))
    objects.be_away()
    for _ in range(5):
        with pytest.raises(BodiesUnavailable):
            fold_pending_batch()
    assert pending() == [(0, 0, 0)]
    objects.be_back()
    fold_all()
    assert pending()[0][0] == 1


def test_a_reader_finds_a_body_whose_pack_was_written_anew_meanwhile(
    key: str, project_id: int, objects: MemoryStore
) -> None:
    post(key, *(make_envelope(name) for name in ("a", "b", "c")))
    wanted = [trace for trace in stored() if str(trace[0]) != view_id_of("a")]

    def tidy_meanwhile(operation: str, name: str) -> None:
        objects.be_back()
        erase_view(project_id, UUID(view_id_of("a")))
        assert tidy_packs(NOW) == 1

    objects.before = tidy_meanwhile
    assert len(load_raw_bodies(project_id, wanted)) == 2


def test_a_lost_pack_is_reported_and_only_its_traces_are_rejected(
    key: str, objects: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    post(key, make_envelope("lost"))
    (name,) = objects.packs
    post(key, make_envelope("kept"))
    del objects.objects[name]
    with caplog.at_level(logging.ERROR):
        fold_all()
    assert "has lost 1 packs" in caplog.text
    assert rows("SELECT state, reason FROM ingest_tracereceipt ORDER BY state") == [(1, None), (2, "body_missing")]


def test_in_a_bucket_of_another_database_no_body_counts_as_lost(key: str, objects: MemoryStore) -> None:
    post(key, make_envelope("a"))
    objects.objects.clear()
    objects.objects[MARK] = b'{"database": "another"}'
    with pytest.raises(BodiesUnavailable):
        fold_pending_batch()
    assert pending() == [(0, 0, 0)]


def test_one_trace_and_the_first_ones_are_read_from_packs(key: str, project_id: int, objects: MemoryStore) -> None:
    post(key, *(make_envelope(name) for name in ("a", "b", "c")))
    body = select_raw_body(project_id, f"{view_id_of('a')}.0")
    assert body is not None
    assert view_id_of("a").encode() in body.expand()
    since = datetime.now(UTC) - timedelta(days=1)
    assert len(list(iter_first_bodies(project_id, since=since, max_bytes=1_000_000, limit=2))) == 2
    assert list(iter_first_bodies(project_id, since=since, max_bytes=1, limit=2)) == []


def test_a_batch_asks_each_pack_once(key: str, project_id: int, objects: MemoryStore) -> None:
    post(key, *(make_envelope(name) for name in ("a", "b", "c")))
    post(key, make_envelope("d"))
    objects.done.clear()
    assert len(load_raw_bodies(project_id, stored())) == 4
    assert [operation for operation, _ in objects.done] == ["read", "read"]


def test_erasing_by_a_tag_reads_bodies_in_packs(key: str, project_id: int, objects: MemoryStore) -> None:
    post(key, make_envelope("mine", tags=["visitor:a"]), make_envelope("other"))
    fold_all()
    call_command("erase_view", "--project", "shop", "--tag", "visitor=a")
    assert [str(view_id) for view_id, _, _ in stored()] == [view_id_of("other")]
    tidy_packs(NOW)
    assert not any(UUID(view_id_of("mine")).bytes in content for content in objects.packs.values())


def test_a_page_says_that_the_store_is_away(key: str, admin_client: Client, objects: MemoryStore) -> None:
    post(key, make_envelope("a"))
    objects.be_away()
    answer = admin_client.get(f"/api/v1/projects/shop/traces/{view_id_of('a')}.0/raw")
    assert (answer.status_code, "store of raw traces" in answer.content.decode()) == (503, True)
