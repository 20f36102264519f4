"""Announced releases: what a holder of a token has said about them. Their pages have room in a full project too."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection, transaction

from projects.audit.acts import Act
from projects.audit.entries import record
from projects.models import AnnouncedRelease

# A git or Mercurial commit in full is 40 or 64 characters; a Subversion revision and a Perforce change fit too. No
# character needs an escape in an address.
COMMIT: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,63}")
MAX_AUTHOR_CHARS: Final = 200
MAX_LINK_CHARS: Final = 2_000  # as long as browsers and proxies take for certain
PLACES: Final = ("{base}", "{head}")  # in the link to a range of commits
EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)  # before: a clock that was never set
LATEST_AHEAD: Final = timedelta(days=1)  # a planned release, or a clock that is wrong by a zone
# What is said about a release next to its name. None removes it.
RELEASE_FIELDS: Final = ("commit", "base_commit", "released_at", "author", "link", "range_link", "rolled_back_at")
TIMES: Final = ("released_at", "rolled_back_at")
ReleaseFields = Mapping[str, str | datetime | None]


class ReleaseError(Exception):
    """The release is not announced; the message says why, and `field` names what is wrong."""

    def __init__(self, message: str, field: str = "release") -> None:
        super().__init__(message)
        self.field = field


def check_release(release: str) -> None:
    """Raises `ReleaseError` unless traces can have this release."""
    if not release or len(release) > settings.INGEST_MAX_TEXT_CHARS or not release.isprintable():
        raise ReleaseError(f"1 to {settings.INGEST_MAX_TEXT_CHARS} printable characters.")


def check_fields(fields: ReleaseFields, now: datetime) -> None:
    """Raises `ReleaseError`, which names the field, unless these fields of a release can be kept."""
    for field, value in fields.items():
        if value is None:
            continue
        if isinstance(value, datetime):
            if not EARLIEST <= value <= now + LATEST_AHEAD:
                raise ReleaseError("A time from 2000 on, at most a day ahead.", field)
        elif field in ("commit", "base_commit"):
            if not COMMIT.fullmatch(value):
                raise ReleaseError("1 to 64 letters, digits, dots, underscores or hyphens.", field)
        elif field == "author":
            if not value.strip() or len(value) > MAX_AUTHOR_CHARS or not value.isprintable():
                raise ReleaseError(f"1 to {MAX_AUTHOR_CHARS} printable characters.", field)
        elif field == "link":
            _check_link(field, value)
        else:
            _check_range_link(field, value)


def _check_range_link(field: str, link: str) -> None:
    """Raises `ReleaseError` unless a link has the places of both commits, once each and behind its host."""
    plain = link
    for place in PLACES:
        plain = plain.replace(place, "x", 1)
    _check_link(field, plain)
    if any(place not in link.partition("://")[2].partition("/")[2] for place in PLACES) or set("{}") & set(plain):
        raise ReleaseError("It must contain {base} and {head} once each, behind the host, and no other braces.", field)


def _check_link(field: str, link: str) -> None:
    """Raises `ReleaseError` for what is no http or https address. Others, such as `javascript:`, act when clicked."""
    try:
        parts = urlsplit(link)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        has_login = "@" in parts.netloc
        parts.port  # noqa: B018  # the property raises
    except ValueError:
        is_address = has_login = False
    if len(link) > MAX_LINK_CHARS or not link.isprintable() or set(' "<>\\') & set(link) or not is_address:
        raise ReleaseError(f"An http or https address of at most {MAX_LINK_CHARS} characters.", field)
    if has_login:
        raise ReleaseError("An address without a user name and password.", field)


def announce_release(project_id: int, release: str, at: datetime, fields: ReleaseFields | None = None) -> None:
    """Announces a release, or again. Fields that are not named stay as they were. Writes the log if it was rolled back.

    Raises `ReleaseError` for one that cannot be announced, or if the project has too many.
    """
    check_release(release)
    fields = {} if fields is None else fields
    check_fields(fields, at)
    names = [name for name in RELEASE_FIELDS if name in fields and name != "rolled_back_at"]
    columns = ", ".join(["project_id", "release", "announced_at", *names])
    types = {name: "timestamptz" if name in TIMES else "text" for name in names}
    values = ", ".join(["%(project)s", "%(release)s", "%(at)s", *(f"%({name})s::{types[name]}" for name in names)])
    changes = ", ".join(f"{name} = excluded.{name}" for name in ("announced_at", *names))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"""INSERT INTO projects_announcedrelease ({columns})
               SELECT {values}
               WHERE (SELECT count(*) FROM projects_announcedrelease
                      WHERE project_id = %(project)s AND release <> %(release)s) < %(most)s
               ON CONFLICT (project_id, release) DO UPDATE SET {changes}""",
            {**fields, "project": project_id, "release": release, "at": at, "most": settings.MAX_ANNOUNCED_RELEASES},
        )
        if not cursor.rowcount:
            raise ReleaseError(f"the project has {settings.MAX_ANNOUNCED_RELEASES} announced releases already.")
        if "rolled_back_at" in fields:  # the row is locked now: a second request waits, and writes no entry
            _write_rollback(project_id, release, fields["rolled_back_at"])


def _write_rollback(project_id: int, release: str, at: str | datetime | None) -> None:
    """Keeps since when a release is rolled back, and writes the log; nothing if that was known."""
    rows = AnnouncedRelease.objects.filter(project_id=project_id, release=release)
    if rows.exclude(rolled_back_at=at).update(rolled_back_at=at):
        act = Act.RELEASE_RESTORED if at is None else Act.RELEASE_ROLLED_BACK
        record(act, project=project_id, release=release)


def expire_announced(project_id: int, before: datetime) -> int:
    """Forgets releases that were last announced before a time; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM projects_announcedrelease WHERE project_id = %s AND announced_at < %s", [project_id, before]
        )
        return int(cursor.rowcount)
