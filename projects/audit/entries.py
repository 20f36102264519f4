"""Writing, reading and expiring the log's entries. The database itself refuses to change one, or to delete it early.

An entry is written in the transaction of its act: one is never stored without the other. The owner of the tables can
still remove the trigger that protects them; so export the log to another place if operators must not be trusted.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from projects.audit.actors import ActorKind, current_actor
from projects.audit.acts import Act
from projects.models import AuditEntry, Project

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
# Of one user or token. No entry can be deleted for two years, so without a bound one login fills the disk. Scripts that
# release or erase do some hundred acts in an hour at most.
ACTS_PER_HOUR: Final = 500
LOGGED_PAGE_CHARS: Final = 200  # of an address in an entry
EXPIRE_BATCH_ROWS: Final = 5_000  # of one transaction, as retention does
READ_ROWS: Final = 2_000  # of an export, read at once


class TooManyActs(Exception):
    """Someone did so much that the log would grow without end; has a sentence, and the seconds to wait."""

    def __init__(self, detail: str, wait_s: int) -> None:
        super().__init__(detail)
        self.wait_s = wait_s


def check_rate(entries: QuerySet[AuditEntry], most: int, window: timedelta, detail: str) -> None:
    """Raises `TooManyActs` if there are `most` entries in the last `window`."""
    now = datetime.now(UTC)
    oldest = entries.filter(at__gt=now - window).order_by("-at").values_list("at", flat=True)[most - 1 : most]
    for at in oldest:
        raise TooManyActs(f"{detail} Try again later.", wait_s=max(1, round((at + window - now).total_seconds())))


def record(act: Act, *, project: Project | int | None = None, **about: object) -> AuditEntry:
    """Writes that the current actor did something. `about` has names, ids and numbers: never secrets or view ids.

    Call it inside the transaction of the act, and only if something was changed. `project` may be its id. Raises
    `TooManyActs`, which takes the act back.
    """
    if isinstance(project, int):
        project = Project.objects.only("slug").get(pk=project)
    actor, now = current_actor(), datetime.now(UTC)
    if actor.kind in (ActorKind.USER, ActorKind.TOKEN):
        done = AuditEntry.objects.filter(actor_kind=actor.kind, actor_id=actor.id)
        check_rate(done, ACTS_PER_HOUR, HOUR, f"At most {ACTS_PER_HOUR} changes an hour are accepted.")
    return AuditEntry.objects.create(
        at=now,
        kept_until=now + timedelta(days=settings.KEEP_AUDIT_DAYS),
        act=act,
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_name=actor.name,
        network=actor.network,
        project_number=None if project is None else project.pk,
        project_slug="" if project is None else project.slug,
        about=about,
    )


def describe_user(user: User) -> dict[str, object]:
    """Returns how entries name a user: by id, which stays, and by name, which people know."""
    return {"id": user.pk, "name": user.get_username()}


def entries_of(projects: QuerySet[Project], *, with_server: bool) -> QuerySet[AuditEntry]:
    """Returns the entries about some projects, newest first; `with_server` adds those that are about no project."""
    is_seen = Q(project_number__in=projects.values("pk"))
    if with_server:
        is_seen |= Q(project_number=None)
    return AuditEntry.objects.filter(is_seen).order_by("-pk")


def iter_lines(entries: QuerySet[AuditEntry]) -> Iterator[str]:
    """Yields entries as lines of JSON, oldest first, in statements of `READ_ROWS` each."""
    last = 0
    while True:
        batch = list(entries.filter(pk__gt=last).order_by("pk")[:READ_ROWS])
        for entry in batch:
            yield write_line(entry)
        if len(batch) < READ_ROWS:
            return
        last = batch[-1].pk


def write_line(entry: AuditEntry) -> str:
    """Returns an entry as a line of JSON."""
    return json.dumps(encode_entry(entry), ensure_ascii=False) + "\n"


def encode_entry(entry: AuditEntry) -> dict[str, object]:
    """Returns an entry for JSON. Its fields are a contract (docs/security.md)."""
    project: dict[str, object] | None = None
    if entry.project_number is not None:
        project = {"id": entry.project_number, "slug": entry.project_slug}
    return {
        "id": entry.pk,
        "at": entry.at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "act": entry.act,
        "actor": {"kind": entry.actor_kind, "id": entry.actor_id, "name": entry.actor_name},
        "network": entry.network or None,
        "project": project,
        "about": entry.about,
    }


def expire_entries(now: datetime) -> int:
    """Deletes a batch of entries whose time is over, and returns how many. The database refuses others."""
    # Both clocks must agree: the trigger asks the database's.
    old = (
        AuditEntry.objects.filter(kept_until__lte=now)
        .filter(kept_until__lte=Now())
        .order_by("pk")
        .values("pk")[:EXPIRE_BATCH_ROWS]
    )
    deleted, _ = AuditEntry.objects.filter(pk__in=list(old.values_list("pk", flat=True))).delete()
    return deleted
