"""Shared links: people without an account read a project with them. Created once in clear text, kept as digests."""

import hmac
import re
import secrets
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from projects.audit.acts import Act
from projects.audit.entries import LOGGED_PAGE_CHARS, record
from projects.models import Membership, Project, SharedLink
from projects.tokens import digest_token

PREFIX_CHARS: Final = 12
SECRET_BYTES: Final = 32
CLEAR: Final = re.compile(rf"ffs_([0-9a-f]{{{PREFIX_CHARS}}})_[A-Za-z0-9_-]{{43}}")
MAX_PAGE_CHARS: Final = 4_000  # an address: proxies accept twice that
EXPIRY_DAYS: Final = (1, 7, 30)  # what people can choose
# Links that ended stay in the list for this long, and can say why they do not work.
KEEP_ENDED_DAYS: Final = 30
# Reading by a link is noted at most so often: each note is a write.
NOTE_EVERY: Final = timedelta(minutes=5)


class TooManyLinks(Exception):
    """The project has as many live links as it may."""


def create_shared_link(
    *, project: Project, creator: User, page: str, now: datetime, days: int | None = None
) -> tuple[SharedLink, str]:
    """Creates a link to a page of the project, and returns it with its clear text, which is kept nowhere.

    Raises `TooManyLinks`, and Django's `ValidationError` for `page` or `days`.
    """
    if len(page) > MAX_PAGE_CHARS:
        raise ValidationError({"page": f"The address of the page has more than {MAX_PAGE_CHARS} characters."})
    expires_at = read_expiry(days, now)
    prefix = secrets.token_hex(PREFIX_CHARS // 2)
    clear = f"ffs_{prefix}_{secrets.token_urlsafe(SECRET_BYTES)}"
    with transaction.atomic():
        # Of two at the same time, the second one counts both. Folds and imports, which refer to the row, go on.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if live_links(now).filter(project=project).count() >= settings.SHARED_LINKS_MAX:
            raise TooManyLinks
        link = SharedLink.objects.create(
            project=project,
            creator=creator,
            prefix=prefix,
            digest=digest_token(clear),
            page=page,
            created_at=now,
            expires_at=expires_at,
        )
        record(
            Act.LINK_CREATED,
            project=project,
            link=prefix,
            page=page.partition("?")[0][:LOGGED_PAGE_CHARS],
            until=f"{expires_at:%F}",
        )
    return link, clear


def list_expiry_days() -> list[int]:
    """Returns the days that people can choose from; none if sharing is switched off."""
    most = settings.SHARED_LINK_MAX_DAYS
    return sorted({min(days, most) for days in (*EXPIRY_DAYS, settings.SHARED_LINK_DEFAULT_DAYS)} - {0})


def read_expiry(days: int | None, now: datetime) -> datetime:
    """Returns when a link ends that is valid for this many days (None: the default). Raises `ValidationError`."""
    most = settings.SHARED_LINK_MAX_DAYS
    if not most:
        raise ValidationError({"days": "Sharing is switched off on this server."})
    if days is None:
        days = min(settings.SHARED_LINK_DEFAULT_DAYS, most)
    if not 1 <= days <= most:
        raise ValidationError({"days": f"A link is valid for 1 to {most} days."})
    return (now + timedelta(days=days)).replace(microsecond=0)


def change_expiry(link: SharedLink, days: int, now: datetime) -> bool:
    """Makes a live link end this many days from now. Returns False if it has ended. Raises `ValidationError`."""
    expires_at = read_expiry(days, now)
    with transaction.atomic():
        if not live_links(now).filter(pk=link.pk).update(expires_at=expires_at):
            return False
        record(Act.LINK_EXTENDED, project=link.project, link=link.prefix, until=f"{expires_at:%F}")
    link.expires_at = expires_at
    return True


def live_links(now: datetime) -> QuerySet[SharedLink]:
    """Returns the links that are neither expired nor revoked."""
    return SharedLink.objects.filter(revoked_at=None, expires_at__gt=now)


def revoke_links(links: QuerySet[SharedLink], now: datetime) -> int:
    """Revokes the live ones of some links, at once, and returns how many."""
    with transaction.atomic():
        unexpired = links.filter(revoked_at=None, expires_at__gt=now).select_related("project")
        live = list(unexpired.select_for_update(of=("self",)))
        SharedLink.objects.filter(pk__in=[link.pk for link in live]).update(revoked_at=now)
        for link in live:
            record(Act.LINK_REVOKED, project=link.project, link=link.prefix)
    return len(live)


def find_shared_link(clear: str) -> SharedLink | None:
    """Returns the link with this clear text, also if it has ended: found by its prefix, compared in constant time."""
    match = CLEAR.fullmatch(clear)
    if match is None:
        return None
    link = SharedLink.objects.select_related("project", "creator").filter(prefix=match.group(1)).first()
    if link is None or not hmac.compare_digest(link.digest, digest_token(clear)):
        return None
    return link


def note_use(link: SharedLink, now: datetime) -> None:
    """Notes that someone reads with a link, if the last note is old."""
    if link.last_used_at is None or link.last_used_at < now - NOTE_EVERY:
        SharedLink.objects.filter(pk=link.pk).update(last_used_at=now)


def expire_shared_links(now: datetime) -> int:
    """Revokes links whose creators lost access, and deletes those that ended some time ago. Returns how many."""
    members = Membership.objects.filter(project=OuterRef("project"))
    has_access = Q(Exists(members.filter(user=OuterRef("creator")))) | Q(~Exists(members), creator__is_superuser=True)
    lost = SharedLink.objects.filter(~has_access | Q(creator__is_active=False))
    revoke_links(SharedLink.objects.filter(pk__in=lost.values("pk")), now)
    before = now - timedelta(days=KEEP_ENDED_DAYS)
    deleted, _ = SharedLink.objects.filter(Q(expires_at__lt=before) | Q(revoked_at__lt=before)).delete()
    return deleted
