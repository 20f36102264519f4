"""Tokens of the API: created once in clear text, kept as digests, with scopes and an end, revoked."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet

from projects.audit.acts import Act
from projects.audit.entries import record
from projects.models import ApiToken, Project

TOKEN_PREFIX_CHARS: Final = 8
# The use of a token is noted at most so often: each note is a write, and people ask about days.
NOTE_EVERY: Final = timedelta(minutes=10)


def create_token(
    *,
    project: Project,
    name: str = "",
    scopes: Iterable[str] = (ApiToken.Scope.READ,),
    days: int | None = None,
) -> tuple[ApiToken, str]:
    """Creates a token of the API, and returns it with its clear text, which is kept nowhere.

    It ends after `days`; None lets it live as long as the server allows. Raises Django's `ValidationError` for `scopes`
    or `days`.
    """
    granted = clean_scopes(scopes)
    expires_at = read_expiry(days, datetime.now(UTC))
    prefix = secrets.token_hex(TOKEN_PREFIX_CHARS // 2)
    clear = f"ff_{prefix}_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        token = ApiToken.objects.create(
            project=project,
            prefix=prefix,
            digest=digest_token(clear),
            name=name,
            scopes=granted,
            expires_at=expires_at,
        )
        until = None if expires_at is None else f"{expires_at:%F}"
        record(Act.TOKEN_CREATED, project=project, token=prefix, name=name, scopes=granted, until=until)
    return token, clear


def clean_scopes(scopes: Iterable[str]) -> list[str]:
    """Returns scopes in their order, each once; `raw` brings `read`. Raises `ValidationError` for `scopes`."""
    wanted = {str(scope) for scope in scopes}
    if unknown := wanted - set(ApiToken.Scope.values):
        raise ValidationError({"scopes": f"{min(unknown)!r} is not a scope; {', '.join(ApiToken.Scope.values)} are."})
    if not wanted:
        raise ValidationError({"scopes": "Choose at least one scope."})
    if ApiToken.Scope.RAW in wanted:
        wanted.add(ApiToken.Scope.READ.value)
    return [scope for scope in ApiToken.Scope.values if scope in wanted]


def read_expiry(days: int | None, now: datetime) -> datetime | None:
    """Returns when a token ends that is valid for this many days. Raises `ValidationError` for `days`."""
    most = settings.TOKEN_MAX_DAYS
    if days is None:
        return now + timedelta(days=most) if most else None
    if days < 1 or (most and days > most):
        raise ValidationError({"days": f"A token is valid for 1 to {most} days." if most else "At least one day."})
    return now + timedelta(days=days)


def live_tokens(now: datetime) -> QuerySet[ApiToken]:
    """Returns the tokens that are neither expired nor revoked."""
    return ApiToken.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)


def note_use(token: ApiToken, now: datetime) -> None:
    """Notes that a token is used, if the last note is old. Of requests at the same time, one writes."""
    before = now - NOTE_EVERY
    if token.last_used_at is None or token.last_used_at < before:
        is_old = Q(last_used_at=None) | Q(last_used_at__lt=before)
        ApiToken.objects.filter(is_old, pk=token.pk).update(last_used_at=now)


def revoke_token(*, project: Project, prefix: str) -> ApiToken | None:
    """Revokes a token and the links made with it; returns it, None if the project has none with that prefix."""
    live = ApiToken.objects.filter(project=project, prefix=prefix, revoked_at=None)
    with transaction.atomic():
        if not live.update(revoked_at=datetime.now(UTC)):
            return None
        record(Act.TOKEN_REVOKED, project=project, token=prefix)
    return ApiToken.objects.get(project=project, prefix=prefix)


def digest_token(clear: str) -> str:
    """Returns the SHA-256 under which a token is kept: 256 random bits need no slow hash."""
    return hashlib.sha256(clear.encode()).hexdigest()
