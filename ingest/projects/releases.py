"""Announced releases: those that a holder of a token has named. Their pages have room in a full project too."""

from datetime import datetime

from django.conf import settings
from django.db import connection


class ReleaseError(Exception):
    """The release is not announced; the message says why."""


def check_release(release: str) -> None:
    """Raises `ReleaseError` unless traces can have this release."""
    if not release or len(release) > settings.INGEST_MAX_TEXT_CHARS or not release.isprintable():
        raise ReleaseError(f"1 to {settings.INGEST_MAX_TEXT_CHARS} printable characters.")


def announce_release(project_id: int, release: str, at: datetime) -> None:
    """Announces a release, or again. Raises `ReleaseError` for one that cannot be, or if the project has too many."""
    check_release(release)
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO ingest_announcedrelease (project_id, release, announced_at)
               SELECT %(project)s, %(release)s, %(at)s
               WHERE (SELECT count(*) FROM ingest_announcedrelease
                      WHERE project_id = %(project)s AND release <> %(release)s) < %(most)s
               ON CONFLICT (project_id, release) DO UPDATE SET announced_at = excluded.announced_at""",
            {"project": project_id, "release": release, "at": at, "most": settings.MAX_ANNOUNCED_RELEASES},
        )
        if not cursor.rowcount:
            raise ReleaseError(f"the project has {settings.MAX_ANNOUNCED_RELEASES} announced releases already.")


def expire_announced(project_id: int, before: datetime) -> int:
    """Forgets releases that were last announced before a time; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM ingest_announcedrelease WHERE project_id = %s AND announced_at < %s", [project_id, before]
        )
        return int(cursor.rowcount)
