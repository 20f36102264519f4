"""The object store: the few operations that packs need, with bounds of time, counts, and one kind of error.

The client is a compiled library (obstore), imported when the first object is written or read. It runs threads, which
do not survive a fork: a process that forks others must not use it.
"""

import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from django.conf import settings
from django.db import OperationalError
from prometheus_client import Histogram

if TYPE_CHECKING:
    from obstore.store import S3Store

logger = logging.getLogger(__name__)

OBJECT_SECONDS: Final = Histogram(
    "fieldflame_object_seconds",
    "Time of one operation in the object store, by operation (put, get, delete, list) and outcome (done, missing, "
    "failed)",
    ["operation", "outcome"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0),
)
READ_WAIT_S: Final = 30.0  # workers and readers have time: a pack of 4 MB through a slow line takes some seconds
CONNECT_WAIT_S: Final = 1.0
RETRIES: Final = 3
PAUSE_S: Final = 1.0  # after a failed write none is tried for this long: threads must not pile up behind a store
LIST_PAGE: Final = 1_000  # as S3 answers a listing


class BodiesUnavailable(OperationalError):
    """The object store does not answer, or may not be used. Callers treat it as they treat a lost database."""


class ObjectMissing(Exception):
    """There is no such object."""


@dataclass(frozen=True, slots=True)
class ListedObject:
    """One object of a listing."""

    name: str
    modified_at: datetime


class ObjectStore(Protocol):
    """What packs need of a store. Each operation is done when it returns; all raise `BodiesUnavailable`."""

    def put(self, name: str, content: bytes) -> None:
        """Stores an object durably, in place of one of that name."""

    def read(self, name: str) -> bytes:
        """Returns an object's bytes. Raises `ObjectMissing`."""

    def read_spans(self, name: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Returns parts of an object, given by offset and length. Raises `ObjectMissing`."""

    def delete(self, names: Sequence[str]) -> None:
        """Deletes objects. Those that are gone already are no error."""

    def iter_listed(self, prefix: str) -> Iterator[list[ListedObject]]:
        """Yields all objects whose names begin so, page by page."""


class S3Bucket:
    """A folder of a bucket behind the S3 interface."""

    def __init__(self) -> None:
        self._writing = _open_bucket(settings.OBJECTS_WAIT_MS / 1_000)
        self._reading = _open_bucket(READ_WAIT_S)
        self._paused_until_s = 0.0

    def put(self, name: str, content: bytes) -> None:
        import obstore

        if time.monotonic() < self._paused_until_s:
            raise BodiesUnavailable("the object store failed a moment ago")
        try:
            with _timed("put"):
                obstore.put(self._writing, name, content, use_multipart=False)
        except BodiesUnavailable:
            self._paused_until_s = time.monotonic() + PAUSE_S
            raise

    def read(self, name: str) -> bytes:
        import obstore

        with _timed("get"):
            return bytes(obstore.get(self._reading, name).bytes())

    def read_spans(self, name: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        import obstore

        with _timed("get"):
            parts = obstore.get_ranges(
                self._reading,
                name,
                starts=[offset for offset, _ in spans],
                lengths=[length for _, length in spans],
            )
            return [bytes(part) for part in parts]

    def delete(self, names: Sequence[str]) -> None:
        import obstore

        if names:
            with _timed("delete"):
                obstore.delete(self._reading, list(names))

    def iter_listed(self, prefix: str) -> Iterator[list[ListedObject]]:
        import obstore

        pages = iter(obstore.list(self._reading, prefix, chunk_size=LIST_PAGE))
        while True:
            with _timed("list"):
                page = next(pages, None)
            if page is None:
                return
            yield [ListedObject(entry["path"], entry["last_modified"]) for entry in page]


def _open_bucket(wait_s: float) -> "S3Store":
    """Returns the client of the bucket. A request that failed is tried again only in the first half of the wait."""
    from obstore.store import S3Store

    config = {
        "endpoint": settings.OBJECTS_ENDPOINT,
        "region": settings.OBJECTS_REGION,
        "access_key_id": settings.OBJECTS_ACCESS_KEY,
        "secret_access_key": settings.OBJECTS_SECRET_KEY,
    }
    bucket, _, folder = settings.OBJECTS.removeprefix("s3://").partition("/")
    return S3Store(
        bucket,
        prefix=folder or None,
        config={name: value for name, value in config.items() if value},  # type: ignore[arg-type]  # its keys are known
        client_options={
            "timeout": timedelta(seconds=wait_s),
            "connect_timeout": timedelta(seconds=min(wait_s, CONNECT_WAIT_S)),
            "allow_http": settings.OBJECTS_ENDPOINT.startswith("http://"),
        },
        retry_config={
            "max_retries": RETRIES,
            "retry_timeout": timedelta(seconds=wait_s / 2),
            "backoff": {
                "init_backoff": timedelta(milliseconds=50),
                "max_backoff": timedelta(milliseconds=500),
                "base": 2,
            },
        },
    )


@contextmanager
def _timed(operation: str) -> Iterator[None]:
    """Counts an operation. Turns the library's errors into `ObjectMissing` and `BodiesUnavailable`."""
    from obstore.exceptions import BaseError

    began_s, outcome = time.perf_counter(), "failed"
    try:
        yield
        outcome = "done"
    except FileNotFoundError as error:
        if operation != "get":
            raise BodiesUnavailable("there is no such bucket") from error
        outcome = "missing"
        raise ObjectMissing(explain(error)) from error
    except (BaseError, OSError, ValueError) as error:
        logger.warning("The object store failed (%s): %s", operation, explain(error))
        raise BodiesUnavailable(f"the object store failed: {explain(error)}") from error
    finally:
        OBJECT_SECONDS.labels(operation, outcome).observe(time.perf_counter() - began_s)


def explain(error: Exception) -> str:
    """Returns the first line of an error, which names the request and why it failed."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


_lock = threading.Lock()
_store: ObjectStore | None = None
_opened_by: int | None = None


def open_store() -> ObjectStore:
    """Returns this process's object store. Raises `BodiesUnavailable` if there is none."""
    global _store, _opened_by
    if not settings.OBJECTS:
        raise BodiesUnavailable("FIELDFLAME_OBJECTS is not set, and bodies lie in an object store")
    if _store is None or _opened_by != os.getpid():
        with _lock:
            if _opened_by not in (None, os.getpid()):
                raise RuntimeError("the object store was used before this process was forked")
            if _store is None:
                _store, _opened_by = S3Bucket(), os.getpid()
    return _store


def use_store(store: ObjectStore | None) -> None:
    """Replaces this process's object store, or closes it. For tests, and after a change of the settings."""
    global _store, _opened_by
    with _lock:
        _store, _opened_by = store, None if store is None else os.getpid()
