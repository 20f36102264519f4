"""Object stores for tests: one in memory that fails when told to, and servers of the S3 interface.

`FIELDFLAME_TEST_S3` may name a server, as `http://access-key:secret-key@127.0.0.1:9000/bucket`: tests of the interface
run against it too. The bucket must exist.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import requests
from pytest_django import Settings

from ingest.storage.packs.mark import MARK
from ingest.storage.packs.store import BodiesUnavailable, ListedObject, ObjectMissing, use_store
from ingest.storage.storing import GROUP_COMMIT, read_flush_policy
from profcore.caching import clear_caches

REAL_SERVER: Final = "FIELDFLAME_TEST_S3"


class MemoryStore:
    """A store in memory. `before` is called with each operation and name, and may raise or do something first."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.modified_at: dict[str, datetime] = {}
        self.done: list[tuple[str, str]] = []
        self.before: Callable[[str, str], object] = lambda operation, name: None

    def _begin(self, operation: str, name: str) -> None:
        self.before(operation, name)
        self.done.append((operation, name))

    def put(self, name: str, content: bytes) -> None:
        self._begin("put", name)
        self.objects[name], self.modified_at[name] = content, datetime.now(UTC)

    def read(self, name: str) -> bytes:
        self._begin("read", name)
        if name not in self.objects:
            raise ObjectMissing(name)
        return self.objects[name]

    def read_spans(self, name: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        content = self.read(name)
        return [content[offset : offset + length] for offset, length in spans]

    def delete(self, names: Sequence[str]) -> None:
        for name in names:
            self._begin("delete", name)
            self.objects.pop(name, None)

    def iter_listed(self, prefix: str) -> Iterator[list[ListedObject]]:
        self._begin("list", prefix)
        yield [ListedObject(name, self.modified_at[name]) for name in sorted(self.objects) if name.startswith(prefix)]

    @property
    def packs(self) -> dict[str, bytes]:
        """The objects except the mark."""
        return {name: content for name, content in self.objects.items() if name != MARK}

    def puts(self) -> int:
        """Returns how many packs were written."""
        return sum(operation == "put" and name != MARK for operation, name in self.done)

    def be_away(self) -> None:
        """Fails from now on."""

        def fail(operation: str, name: str) -> None:
            raise BodiesUnavailable("the store of this test is away")

        self.before = fail

    def be_back(self) -> None:
        self.before = lambda operation, name: None


@pytest.fixture
def objects(settings: Settings) -> Iterator[MemoryStore]:
    """Bodies go to a store in memory."""
    settings.OBJECTS = "s3://test/bodies"
    store = MemoryStore()
    use_store(store)
    clear_caches()
    yield store
    use_store(None)
    clear_caches()


def point_at(settings: Settings, server: str) -> None:
    """Points the settings at a folder of its own in a server's bucket."""
    url = urlsplit(server)
    settings.OBJECTS = f"s3:/{url.path}/{uuid4()}"
    settings.OBJECTS_ENDPOINT = f"http://{url.hostname}:{url.port}"
    settings.OBJECTS_ACCESS_KEY, settings.OBJECTS_SECRET_KEY = url.username, url.password
    settings.OBJECTS_GATHER_MS = 0


@pytest.fixture(scope="session")
def moto_server() -> Iterator[str]:
    """A small S3 server in this process, which keeps objects in memory."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    made = requests.put(f"http://{host}:{port}/bodies", timeout=60)
    assert made.ok, made.text
    yield f"http://test:test@{host}:{port}/bodies"
    server.stop()


@pytest.fixture(params=["moto", "real"])
def bucket(request: pytest.FixtureRequest, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Bodies go to a server of the S3 interface: one in this process, and the one that the environment names."""
    server = request.getfixturevalue("moto_server") if request.param == "moto" else os.environ.get(REAL_SERVER)
    if not server:
        pytest.skip(f"no S3 server: {REAL_SERVER} names none")
    point_at(settings, server)
    monkeypatch.setattr(GROUP_COMMIT, "policy", read_flush_policy())
    use_store(None)
    clear_caches()
    yield
    use_store(None)
    clear_caches()
