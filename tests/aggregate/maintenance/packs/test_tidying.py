"""What no row names leaves the object store: erased views, expired days, deleted projects, orphans."""

import threading
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection
from pytest_django import Settings

from aggregate.maintenance.packs import deleting, tidying
from aggregate.maintenance.packs.orphans import ORPHAN_AGE, delete_orphans
from aggregate.maintenance.packs.tidying import tidy_packs
from aggregate.maintenance.project_deletion import begin_deletion, delete_marked_projects
from aggregate.maintenance.retention import expire_all
from aggregate.raw_bodies import load_raw_bodies
from ingest.pack_models import Pack
from ingest.storage.packs.format import PackedBody
from ingest.storage.packs.mark import MARK, take_over
from ingest.storage.packs.placing import place_bodies, read_name
from ingest.storage.packs.store import BodiesUnavailable
from ingest.storage.partitions import create_partitions
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.posting import everything, fold_all, post, rows
from tests.envelopes import make_envelope, view_id_of
from tests.object_stores import MemoryStore
from tests.runner.waiting import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_old_partitions")]

NOW = datetime.now(UTC)
LIMIT_S = 120.0  # the machine may be busy


@pytest.fixture
def key(objects: MemoryStore, key: str) -> str:
    return key


def erase(*views: str) -> None:
    call_command("erase_view", "--project", "shop", *map(view_id_of, views))


def holders(objects: MemoryStore, view: str) -> list[str]:
    """Returns the packs that still have a view, by its id in their directory or in a body."""
    view_id = view_id_of(view)
    return [
        name for name, content in objects.packs.items() if UUID(view_id).bytes in content or view_id.encode() in content
    ]


def read_views(project_id: int) -> set[str]:
    """Returns the views whose bodies can be read, each from its own bytes."""
    traces = rows("SELECT view_id, seq, received_at FROM ingest_rawtrace")
    bodies = load_raw_bodies(project_id, traces)
    assert all(str(view_id).encode() in body.expand() for (view_id, _), body in bodies.items())
    return {str(view_id) for view_id, _ in bodies}


def test_an_erased_view_leaves_the_store_and_its_neighbours_stay(
    key: str, project_id: int, objects: MemoryStore
) -> None:
    post(key, *(make_envelope(name) for name in ("a", "b", "c")))
    post(key, make_envelope("a", seq=1))
    fold_all()
    erase("a")
    assert holders(objects, "a")
    assert tidy_packs(NOW) == 2
    assert holders(objects, "a") == []
    assert read_views(project_id) == {view_id_of("b"), view_id_of("c")}
    assert (len(objects.packs), Pack.objects.count()) == (1, 1)
    assert rows("SELECT traces, tidy_at, doomed_at FROM ingest_pack") == [(2, None, None)]


def test_bytes_of_a_post_that_was_known_leave_the_store(key: str, project_id: int, objects: MemoryStore) -> None:
    post(key, make_envelope("a"))
    post(key, make_envelope("a", "Another"), make_envelope("b"))
    post(key, make_envelope("a"))
    assert len(holders(objects, "a")) == 3
    tidy_packs(NOW)
    assert len(holders(objects, "a")) == 1
    assert read_views(project_id) == {view_id_of("a"), view_id_of("b")}


def test_a_store_that_is_away_leaves_the_work_for_later(key: str, project_id: int, objects: MemoryStore) -> None:
    post(key, make_envelope("a"), make_envelope("b"))
    erase("a")
    objects.be_away()
    with pytest.raises(BodiesUnavailable):
        tidy_packs(NOW)
    assert expire_all(NOW).packs == 0
    objects.be_back()
    tidy_packs(NOW)
    assert holders(objects, "a") == []


@pytest.mark.parametrize("step", ["read", "put", "delete"])
def test_it_goes_on_after_being_killed_at_any_step(key: str, project_id: int, objects: MemoryStore, step: str) -> None:
    post(key, make_envelope("a"), make_envelope("b"))
    erase("a")

    def be_killed(operation: str, name: str) -> None:
        if operation == step and name != MARK:
            raise KeyboardInterrupt

    objects.before = be_killed
    with pytest.raises(KeyboardInterrupt):
        tidy_packs(NOW)
    objects.be_back()
    tidy_packs(NOW)
    assert holders(objects, "a") == []
    assert read_views(project_id) == {view_id_of("b")}


def test_a_view_that_is_erased_while_its_pack_is_written_anew_is_erased_too(
    key: str, project_id: int, objects: MemoryStore
) -> None:
    post(key, *(make_envelope(name) for name in ("a", "b", "c")))
    erase("a")

    def erase_another(operation: str, name: str) -> None:
        if operation == "put":
            objects.be_back()
            erase("b")

    objects.before = erase_another
    tidy_packs(NOW)
    tidy_packs(NOW)
    assert (holders(objects, "a"), holders(objects, "b")) == ([], [])
    assert read_views(project_id) == {view_id_of("c")}


@pytest.mark.slow(35)
@pytest.mark.parametrize("is_moved", [True, False], ids=["moved", "settled"])
def test_an_erasure_that_waits_for_the_transaction_that_moves_its_row_reaches_the_new_pack(
    transactional_db: None,
    key: str,
    project_id: int,
    objects: MemoryStore,
    monkeypatch: pytest.MonkeyPatch,
    is_moved: bool,
) -> None:
    post(key, *(make_envelope(name) for name in ("a", "b", "c")))
    if is_moved:
        erase("a")
    else:
        rows("UPDATE ingest_pack SET tidy_at = now() RETURNING 1")
    look, threads = tidying._is_unchanged, list[threading.Thread]()

    def erase_beside() -> None:
        try:
            erase("b")
        finally:
            connection.close()

    def let_another_erase(pack: tidying.Untidy) -> bool:
        if not threads:
            threads.append(threading.Thread(target=erase_beside))
            threads[0].start()
            wait_until_locked() if is_moved else threads[0].join(LIMIT_S)
        return look(pack)

    monkeypatch.setattr(tidying, "_is_unchanged", let_another_erase)
    tidy_packs(NOW)
    threads[0].join(LIMIT_S)
    tidy_packs(NOW)
    assert (len(holders(objects, "b")), read_views(project_id)) == (
        0,
        {view_id_of("c")} | ({view_id_of("a")} if not is_moved else set()),
    )


def wait_until_locked() -> None:
    """Waits until some session waits for a lock of another one's transaction.

    In a transaction PostgreSQL shows the activity of the first look again, unless it is told to forget it.
    """

    def is_locked() -> bool:
        rows("SELECT pg_stat_clear_snapshot()")
        return bool(rows("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'transactionid'"))

    wait_until(is_locked, "nobody waits for a lock")


def test_two_workers_tidy_the_same_pack(
    transactional_db: None, key: str, project_id: int, objects: MemoryStore
) -> None:
    post(key, *(make_envelope(name) for name in ("a", "b", "c")))
    erase("a")
    meet = threading.Barrier(2, timeout=LIMIT_S)
    waiting = [True, True]

    def wait_for_the_other(operation: str, name: str) -> None:
        if operation == "put" and waiting:
            waiting.pop()
            meet.wait()

    def tidy() -> None:
        try:
            tidy_packs(NOW)
        finally:
            connection.close()

    objects.before = wait_for_the_other
    threads = [threading.Thread(target=tidy) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    tidy_packs(NOW)
    assert holders(objects, "a") == []
    assert len(objects.packs) == 1
    assert read_views(project_id) == {view_id_of("b"), view_id_of("c")}


def test_nothing_is_deleted_from_the_bucket_of_another_database_until_it_is_taken_over(
    key: str, project_id: int, objects: MemoryStore
) -> None:
    post(key, make_envelope("a"), make_envelope("b"))
    objects.objects[MARK] = b'{"database": "another"}'
    before = dict(objects.packs)
    erase("a")
    assert (tidy_packs(NOW), delete_orphans(NOW + timedelta(days=1), is_whole=True)) == (0, 0)
    assert objects.packs == before
    begin_deletion(Project.objects.get(pk=project_id))
    assert delete_marked_projects(NOW) == 0
    take_over()
    tidy_packs(NOW)
    assert holders(objects, "a") == []


def put_orphan(project_id: int) -> None:
    body = PackedBody(view_id=UUID(view_id_of("lost")), seq=0, received_at=datetime.now(UTC), body=b"lost")
    place_bodies(project_id, [body])


def test_an_orphan_is_deleted_once_nobody_can_name_it_any_more(key: str, project_id: int, objects: MemoryStore) -> None:
    post(key, make_envelope("a"))
    put_orphan(project_id)
    assert len(objects.packs) == 2
    assert delete_orphans(datetime.now(UTC)) == 0
    later = datetime.now(UTC) + ORPHAN_AGE + timedelta(minutes=1)
    assert delete_orphans(later) == 1
    assert len(objects.packs) == 1
    assert read_views(project_id) == {view_id_of("a")}
    assert delete_orphans(later) == 0


def test_an_orphan_that_comes_late_is_deleted_again_and_its_row_ends(
    key: str, project_id: int, objects: MemoryStore
) -> None:
    put_orphan(project_id)
    (name,) = objects.packs
    content = objects.packs[name]
    later = datetime.now(UTC) + ORPHAN_AGE + timedelta(minutes=1)
    delete_orphans(later)
    objects.put(name, content)
    assert delete_orphans(later) == 1
    assert objects.packs == {}
    assert Pack.objects.count() == 1
    tidy_packs(datetime.now(UTC) + deleting.KEEP_ROWS + timedelta(minutes=1))
    assert Pack.objects.count() == 0


def test_objects_of_others_in_the_bucket_are_left_alone(key: str, objects: MemoryStore) -> None:
    objects.put("20200101/readme.txt", b"mine")
    objects.put("history/2026.parquet", b"mine too")
    assert delete_orphans(NOW + timedelta(days=1), is_whole=True) == 0
    assert len(objects.packs) == 2


def test_a_days_objects_go_with_its_partition(key: str, project_id: int, objects: MemoryStore) -> None:
    old = NOW - timedelta(days=40)
    create_partitions(old.date(), 1)
    with time_machine.travel(old, tick=False):
        post(key, make_envelope("old"))
        fold_all()
    post(key, make_envelope("new"))
    fold_all()
    expired = expire_all(NOW)
    assert (expired.partitions, expired.packs) == (1, 0)
    assert holders(objects, "old") == []
    assert read_views(project_id) == {view_id_of("new")}
    assert Pack.objects.count() == 1


def test_a_project_that_keeps_less_loses_its_own_packs_only_and_no_pending_one(
    key: str, project_id: int, objects: MemoryStore
) -> None:
    create_project(slug="other", key="other-key", origins=["*"])
    old = NOW - timedelta(days=20)
    create_partitions(old.date(), 1)
    with time_machine.travel(old, tick=False):
        post(key, make_envelope("old"))
        post("other-key", make_envelope("others"))
        fold_all()
        post(key, make_envelope("pending"))
    Project.objects.filter(slug="shop").update(keep_raw_days=10)
    expire_all(NOW)
    assert (holders(objects, "old"), len(holders(objects, "others")), len(holders(objects, "pending"))) == ([], 1, 1)
    fold_all()
    expire_all(NOW)
    assert len(objects.packs) == 1


def test_a_deleted_projects_objects_are_deleted(key: str, project_id: int, objects: MemoryStore) -> None:
    create_project(slug="other", key="other-key", origins=["*"])
    post(key, make_envelope("a"))
    post("other-key", make_envelope("others"))
    fold_all()
    begin_deletion(Project.objects.get(pk=project_id))
    objects.be_away()
    assert delete_marked_projects(NOW + timedelta(hours=1)) == 0
    objects.be_back()
    assert delete_marked_projects(NOW + timedelta(hours=1)) == 1
    assert [parts[0] for name in objects.packs if (parts := read_name(name))] == [Project.objects.get(slug="other").pk]


def test_without_packs_maintenance_asks_the_store_nothing(key: str, objects: MemoryStore, settings: Settings) -> None:
    settings.OBJECTS_PUT = False
    post(key, make_envelope("a"))
    fold_all()
    before = everything()
    tidy_packs(NOW)
    assert (objects.done, everything()) == ([], before)
