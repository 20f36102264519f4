"""Bearer tokens of the read API. A token reads its own project, and says nothing about who holds it."""

import hmac
import re
from typing import Final

from django.contrib.auth.models import AnonymousUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from ingest.models import ApiToken
from ingest.services import digest_token

TOKEN: Final = re.compile(r"ff_([0-9a-f]{8})_[A-Za-z0-9_-]{1,100}")


class TokenAuthentication(BaseAuthentication):
    """Reads `Authorization: Bearer TOKEN`. Other schemes are left to others; a bad token is refused with 401."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, ApiToken] | None:
        scheme, _, clear = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = find_token(clear.strip())
        if token is None:
            raise AuthenticationFailed("This token is unknown or revoked.")
        return AnonymousUser(), token

    def authenticate_header(self, request: Request) -> str:
        """Returns what WWW-Authenticate says; without it DRF would answer 403 where 401 is meant."""
        return 'Bearer realm="api"'


def find_token(clear: str) -> ApiToken | None:
    """Returns the live token whose clear text this is. Found by its prefix, compared in constant time."""
    match = TOKEN.fullmatch(clear)
    if match is None:
        return None
    token = ApiToken.objects.filter(prefix=match.group(1), revoked_at=None).first()
    if token is None or not hmac.compare_digest(token.digest, digest_token(clear)):
        return None
    return token
