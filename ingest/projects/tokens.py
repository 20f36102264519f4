"""Tokens of the read API: created once in clear text, kept as digests, revoked."""

import hashlib
import secrets
from datetime import UTC, datetime
from typing import Final

from django.db import transaction

from ingest.audit.acts import Act
from ingest.audit.entries import record
from ingest.models import ApiToken, Project

TOKEN_PREFIX_CHARS: Final = 8


def create_token(
    *,
    project: Project,
    name: str = "",
    may_read_raw: bool = False,
    scope: ApiToken.Scope = ApiToken.Scope.READ,
) -> tuple[ApiToken, str]:
    """Creates a token of the API, and returns it with its clear text, which is kept nowhere."""
    prefix = secrets.token_hex(TOKEN_PREFIX_CHARS // 2)
    clear = f"ff_{prefix}_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        token = ApiToken.objects.create(
            project=project,
            prefix=prefix,
            digest=digest_token(clear),
            name=name,
            may_read_raw=may_read_raw,
            scope=scope,
        )
        record(Act.TOKEN_CREATED, project=project, token=prefix, name=name, scope=scope, may_read_raw=may_read_raw)
    return token, clear


def revoke_token(*, project: Project, prefix: str) -> ApiToken | None:
    """Revokes a live token and the links made with it; returns it, None if the project has none with that prefix."""
    live = ApiToken.objects.filter(project=project, prefix=prefix, revoked_at=None)
    with transaction.atomic():
        if not live.update(revoked_at=datetime.now(UTC)):
            return None
        record(Act.TOKEN_REVOKED, project=project, token=prefix)
    return ApiToken.objects.get(project=project, prefix=prefix)


def digest_token(clear: str) -> str:
    """Returns the SHA-256 under which a token is kept: 256 random bits need no slow hash."""
    return hashlib.sha256(clear.encode()).hexdigest()
