"""The debug ids that traces give their scripts, each kept once. Anybody may post any, so a project has bounds."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

import msgspec
from django.db import connection

from ingest.storage.groups import IdCache
from ingest.storage.store_pool import STORE_POOL, execute_in_transaction
from profcore.caching import keep
from profcore.symbolicate.debug_ids import read_debug_ids
from profcore.trace.wire import NULL, Envelope

# Of a release: the scripts of large builds. Made up ones of that release can take the room of real ones.
MAX_OF_RELEASE: Final = 2_000
# Of all releases that no build has announced: made up releases cannot take the room of real ones.
MAX_OF_PROJECT: Final = 20_000
HASH_BYTES: Final = 16
INSERT: Final = f"""
INSERT INTO ingest_scriptdebugid (project_id, release, uri_hash, debug_id, uri, seen_at)
SELECT $1::bigint, $2::text, md5(s.uri)::uuid, s.debug_id::uuid, s.uri, now()
FROM json_each_text($3::json) AS s (uri, debug_id)
WHERE (SELECT count(*) FROM ingest_scriptdebugid
       WHERE project_id = $1::bigint AND release = $2::text) < {MAX_OF_RELEASE}
  AND ((SELECT count(*) FROM ingest_scriptdebugid WHERE project_id = $1::bigint) < {MAX_OF_PROJECT}
       OR EXISTS (SELECT FROM projects_announcedrelease
                  WHERE project_id = $1::bigint AND release = $2::text))
ORDER BY s.uri
ON CONFLICT DO NOTHING
"""
# What this process has stored already: the project, and a hash of the release with what its pages sent.
_stored: Final[IdCache[tuple[int, bytes]]] = keep(IdCache())


def store_debug_ids(project_id: int, envelopes: Iterable[Envelope]) -> None:
    """Stores the debug ids of some traces, if they are new. Raises `django.db.Error`."""
    _stored.clear_sometimes()
    for envelope in envelopes:
        if envelope.debugIds == NULL:
            continue
        hasher = blake2b(envelope.release.encode(), digest_size=HASH_BYTES)
        hasher.update(b"\0")
        hasher.update(envelope.debugIds)
        key = (project_id, hasher.digest())
        if key in _stored:
            continue
        if ids := read_debug_ids(bytes(envelope.debugIds)):
            texts = msgspec.json.encode({uri: str(debug_id) for uri, debug_id in ids.items()}).decode()
            execute = execute_in_transaction if connection.in_atomic_block else STORE_POOL.execute_with_retry
            execute(INSERT, [str(project_id), envelope.release, texts])
        if not connection.in_atomic_block:  # else it may be rolled back
            _stored[key] = 1
