"""Uploads in parts, as Sentry's tools send them: parts wait in a table, by project and SHA-1, until they make one file.

A part is found by its own project only: whether another project has the same one, nothing says.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryFile
from typing import IO, Final

from django.conf import settings
from django.db import connection, transaction

from aggregate.label_models import UploadChunk
from aggregate.sourcemaps.archives import ArchiveError
from aggregate.sourcemaps.script_locks import lock_scripts
from aggregate.sourcemaps.uploading import UploadError

CHUNK_BYTES: Final = 8 * 2**20  # of a part, expanded: what a statement takes without effort
MAX_CHUNKS: Final = 1_000  # of a project, that wait: parts of one byte each would make many rows
WAIT: Final = timedelta(hours=1)  # the tools send all parts and assemble them at once


def store_chunk(project_id: int, digest: str, body: bytes) -> None:
    """Keeps a part until its file is assembled, at most for an hour. Raises `UploadError`."""
    if hashlib.sha1(body, usedforsecurity=False).hexdigest() != digest:
        raise UploadError("body", f"a part has not the checksum that it is sent with: {digest[:40]}.")
    with transaction.atomic(), connection.cursor() as cursor:
        lock_scripts(project_id)
        delete_old_chunks(project_id, datetime.now(UTC))
        cursor.execute(
            "SELECT count(*), coalesce(sum(octet_length(body)), 0) FROM aggregate_uploadchunk WHERE project_id = %s",
            [project_id],
        )
        ((count, size),) = cursor.fetchall()
        if count >= MAX_CHUNKS or size + len(body) > settings.SOURCE_MAP_MAX_UPLOAD_BYTES:
            most = settings.SOURCE_MAP_MAX_UPLOAD_BYTES
            raise UploadError("body", f"the parts of unfinished uploads are more than {MAX_CHUNKS}, or {most} bytes.")
        cursor.execute(
            """INSERT INTO aggregate_uploadchunk (project_id, digest, body, created_at) VALUES (%s, %b, %b, %s)
               ON CONFLICT (project_id, digest) DO UPDATE SET created_at = excluded.created_at""",
            [project_id, bytes.fromhex(digest), body, datetime.now(UTC)],
        )


def list_missing(project_id: int, digests: Sequence[str]) -> list[str]:
    """Returns those parts of a file that do not wait in its project, in their order."""
    wanted = [bytes.fromhex(digest) for digest in digests]
    rows = UploadChunk.objects.filter(project_id=project_id, digest__in=wanted)
    waiting = {bytes(digest).hex() for digest in rows.values_list("digest", flat=True)}
    return [digest for digest in digests if digest not in waiting]


@contextmanager
def assembled(project_id: int, checksum: str, digests: Sequence[str]) -> Iterator[IO[bytes]]:
    """Yields the file that some parts make. They are deleted then, also if the file is refused.

    Raises `UploadError` if they are too large together, or make another file.
    """
    try:
        with _join(project_id, checksum, digests) as file:
            yield file
    except (UploadError, ArchiveError):
        _delete(project_id, digests)
        raise
    _delete(project_id, digests)


@contextmanager
def _join(project_id: int, checksum: str, digests: Sequence[str]) -> Iterator[IO[bytes]]:
    rows = UploadChunk.objects.filter(project_id=project_id)
    hasher = hashlib.sha1(usedforsecurity=False)
    with TemporaryFile() as file:
        for digest in digests:
            body = rows.filter(digest=bytes.fromhex(digest)).values_list("body", flat=True).first()
            part = b"" if body is None else bytes(body)
            if file.tell() + len(part) > settings.SOURCE_MAP_MAX_UPLOAD_BYTES:
                raise UploadError("body", f"it has more than {settings.SOURCE_MAP_MAX_UPLOAD_BYTES} bytes.")
            hasher.update(part)
            file.write(part)
        if hasher.hexdigest() != checksum:
            raise UploadError("body", "its parts do not have its checksum together; send it again.")
        file.seek(0)
        yield file


def _delete(project_id: int, digests: Sequence[str]) -> None:
    UploadChunk.objects.filter(project_id=project_id, digest__in=[bytes.fromhex(digest) for digest in digests]).delete()


def delete_old_chunks(project_id: int, now: datetime) -> None:
    """Deletes parts whose upload broke off."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM aggregate_uploadchunk WHERE project_id = %s AND created_at < %s", [project_id, now - WAIT]
        )
