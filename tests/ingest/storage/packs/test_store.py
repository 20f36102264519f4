"""The object store over the S3 interface, as a server in this process and a real one have it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from ingest.storage.packs import store as store_module
from ingest.storage.packs.store import BodiesUnavailable, ObjectMissing, open_store, use_store


@pytest.fixture
def lost_bucket(settings: Settings, closed_port: int) -> Iterator[None]:
    settings.OBJECTS, settings.OBJECTS_ENDPOINT = "s3://bodies", f"http://127.0.0.1:{closed_port}"
    settings.OBJECTS_ACCESS_KEY = settings.OBJECTS_SECRET_KEY = "test"
    settings.OBJECTS_WAIT_MS = 200
    use_store(None)
    yield
    use_store(None)


@pytest.mark.usefixtures("bucket")
def test_an_object_is_written_read_in_parts_listed_and_deleted() -> None:
    store = open_store()
    store.put("20261123/1/a", b"0123456789")
    store.put("20261123/2/b", b"b")
    store.put("20261124/1/c", b"c")
    assert store.read("20261123/1/a") == b"0123456789"
    assert store.read_spans("20261123/1/a", [(0, 2), (7, 3)]) == [b"01", b"789"]
    listed = [entry for page in store.iter_listed("20261123/") for entry in page]
    assert [entry.name for entry in listed] == ["20261123/1/a", "20261123/2/b"]
    assert all(abs(entry.modified_at - datetime.now(UTC)) < timedelta(hours=1) for entry in listed)
    store.delete(["20261123/1/a", "20261124/1/c", "20261124/1/never"])
    with pytest.raises(ObjectMissing):
        store.read("20261123/1/a")
    with pytest.raises(ObjectMissing):
        store.read_spans("20261123/1/a", [(0, 2)])
    assert [entry.name for page in store.iter_listed("") for entry in page] == ["20261123/2/b"]


@pytest.mark.usefixtures("bucket")
def test_a_bucket_that_is_not_there_is_an_outage(settings: Settings) -> None:
    settings.OBJECTS = "s3://no-such-bucket-here"
    use_store(None)
    with pytest.raises(BodiesUnavailable):
        open_store().put("a", b"a")


@pytest.mark.usefixtures("lost_bucket")
def test_a_store_that_is_away_is_an_outage_and_is_left_alone_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "PAUSE_S", 600.0)
    with pytest.raises(BodiesUnavailable, match="failed"):
        open_store().put("a", b"a")
    with pytest.raises(BodiesUnavailable, match="a moment ago"):
        open_store().put("a", b"a")
    with pytest.raises(BodiesUnavailable):
        open_store().read("a")


def test_without_a_setting_nothing_opens_a_store(settings: Settings) -> None:
    settings.OBJECTS = ""
    use_store(None)
    with pytest.raises(BodiesUnavailable, match="FIELDFLAME_OBJECTS"):
        open_store()


def test_a_fork_of_a_process_with_an_open_store_says_so(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.OBJECTS = "s3://bodies"
    monkeypatch.setattr(store_module, "_opened_by", 1)
    with pytest.raises(RuntimeError, match="forked"):
        open_store()
