"""The mark of a bucket: an object that says which database the packs in it belong to.

A bucket without it is not written to once this database has packs elsewhere: a wrong address must not look like lost
bodies. And only the database whose name is in it deletes anything: a copy of a database, restored somewhere to be
looked at, knows fewer packs than there are, and would take the others for orphans.
"""

import json
import logging
from enum import Enum
from typing import Final

from django.conf import settings
from django.db import connection

from ingest.storage.packs.store import BodiesUnavailable, ObjectMissing, open_store
from profcore.caching import keep

logger = logging.getLogger(__name__)

MARK: Final = "fieldflame-bodies.json"


class Standing(Enum):
    """Whose packs a bucket has: this database's, another one's, or no one's."""

    OURS = "ours"
    OTHERS = "others"
    NONE = "none"


_checked: Final[set[str]] = keep(set())  # the buckets that are known to be the right ones


def database_name() -> str:
    """Returns what no other database has in common with this one, except a physical copy of it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT system_identifier, current_database() FROM pg_control_system()")
        row = cursor.fetchone()
    assert row is not None
    return f"{row[0]}/{row[1]}"


def read_standing() -> Standing:
    """Returns whose packs the bucket has, as it says now. Raises `BodiesUnavailable`."""
    try:
        mark = json.loads(open_store().read(MARK))
    except ObjectMissing:
        return Standing.NONE
    except ValueError:
        return Standing.OTHERS
    return Standing.OURS if mark.get("database") == database_name() else Standing.OTHERS


def check_mark() -> None:
    """Sees once per process that the bucket is the right one, and marks a new one. Raises `BodiesUnavailable`."""
    if settings.OBJECTS in _checked:
        return
    if read_standing() is Standing.NONE:
        if _has_packs():
            raise BodiesUnavailable("the bucket is not the one that has this database's bodies: it has no mark")
        take_over()
    _checked.add(settings.OBJECTS)


def take_over() -> None:
    """Makes the bucket this database's own, which may delete from it from now on."""
    open_store().put(MARK, _write_mark())


def may_delete() -> bool:
    """Returns whether this database may delete from the bucket; if not, says so in the log."""
    standing = read_standing()
    if standing is not Standing.OURS:
        logger.error(
            "Nothing is deleted from the object store: the bucket is marked as that of %s.",
            "another database" if standing is Standing.OTHERS else "nobody",
        )
    return standing is Standing.OURS


def _write_mark() -> bytes:
    return json.dumps({"database": database_name()}).encode()


def _has_packs() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM ingest_pack WHERE doomed_at IS NULL)")
        row = cursor.fetchone()
    return row is not None and bool(row[0])
