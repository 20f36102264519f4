"""Bearer tokens of the read API. A token reads one project; it does not identify its holder."""

import hmac
import re
from datetime import UTC, datetime
from typing import Final

from django.contrib.auth.models import AnonymousUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from projects.models import ApiToken
from projects.tokens import digest_token, live_tokens, note_use

TOKEN: Final = re.compile(r"ff_([0-9a-f]{8})_[A-Za-z0-9_-]{1,100}")


class TokenAuthentication(BaseAuthentication):
    """Reads `Authorization: Bearer TOKEN`. It ignores other schemes and answers 401 for a bad token."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, ApiToken] | None:
        scheme, _, clear = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = find_token(clear.strip())
        if token is None:
            raise AuthenticationFailed("This token is unknown, revoked or expired.")
        request._request.api_token = token  # type: ignore[attr-defined]  # for the log of administration
        return AnonymousUser(), token

    def authenticate_header(self, request: Request) -> str:
        """Returns the value of `WWW-Authenticate`. Without it DRF would answer 403 instead of 401."""
        return 'Bearer realm="api"'


def find_token(clear: str) -> ApiToken | None:
    """Returns the live token with this clear text: found by its prefix, compared in constant time.

    It comes with its project, which every endpoint reads next. One statement; and now and then one that notes its use.
    """
    match = TOKEN.fullmatch(clear)
    if match is None:
        return None
    token = live_tokens(datetime.now(UTC)).select_related("project").filter(prefix=match.group(1)).first()
    if token is None or not hmac.compare_digest(token.digest, digest_token(clear)):
        return None
    note_use(token, datetime.now(UTC))
    return token
