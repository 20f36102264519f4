"""The client of a login's provider, by Authlib: it checks state, nonce, signature, issuer and audience; we say whom.

Authlib and its cryptography are imported at the first login by a provider: they take 15 MB of a process.
"""

import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse

from projects.accounts.sign_in import Person, SignInRefused

AT_ONCE: Final = 8  # threads of a process that may wait for the provider: it may be slow, and others need theirs
REFRESH_S: Final = 86_400  # what the provider says of itself is asked again after a day; unknown keys at once
MAX_GROUPS: Final = 10_000
_places = threading.BoundedSemaphore(AT_ONCE)
_client: tuple[float, Any] | None = None  # Any: Authlib has no types


class ProviderFailed(Exception):
    """The provider did not answer, or not as agreed. The text is for the log, without anything that it sent."""


class ProviderBusy(Exception):
    """As many logins as may wait for the provider are under way."""


class ProviderBackend(ModelBackend):
    """Finds the user of a session that the provider began. It checks no passwords."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **more: Any
    ) -> User | None:  # Any: as in Django's stubs
        return None


def begin(request: HttpRequest, redirect_uri: str) -> HttpResponse:
    """Redirects to the provider. Raises `ProviderFailed` or `ProviderBusy`."""
    with _asking():
        response: HttpResponse = _find_client().authorize_redirect(request, redirect_uri)
        return response


def finish(request: HttpRequest) -> Person:
    """Returns whom the provider has logged in. Raises `ProviderFailed`, `ProviderBusy` or `SignInRefused`."""
    with _asking():
        client = _find_client()
        token = client.authorize_access_token(request)
        claims = dict(token.get("userinfo") or {})
        if not claims.get("sub"):
            raise ProviderFailed("the answer has no ID token")
        if client.load_server_metadata().get("userinfo_endpoint"):
            more = dict(client.userinfo(token=token))
            if more.get("sub") != claims["sub"]:
                raise ProviderFailed("userinfo is about somebody else")
            claims = more | claims
    return read_person(claims)


def read_person(claims: Mapping[str, Any]) -> Person:  # Any: JSON
    """Returns the person of some claims. Raises `SignInRefused` if they have no name."""
    names = (claims.get(name) for name in (settings.OIDC_USERNAME_CLAIM, "email", "sub"))
    name = next((name for name in names if isinstance(name, str) and name), "")
    subject = str(claims["sub"])
    if not name or len(subject) > 255:
        raise SignInRefused("The provider named you in no way that can be used here.")
    return Person(issuer=settings.OIDC_ISSUER, subject=subject, name=name, groups=read_groups(claims))


def read_groups(claims: Mapping[str, Any]) -> frozenset[str]:  # Any: JSON
    """Returns the groups of some claims. A dot in the claim's name leads into an object, if no claim has the name."""
    groups: Any = claims.get(settings.OIDC_GROUPS_CLAIM)
    if groups is None:
        groups = claims
        for part in settings.OIDC_GROUPS_CLAIM.split("."):
            groups = groups.get(part) if isinstance(groups, dict) else None
    if isinstance(groups, str):
        groups = [groups]
    if not isinstance(groups, list):
        return frozenset()
    return frozenset(group for group in groups[:MAX_GROUPS] if isinstance(group, str))


@contextmanager
def _asking() -> Iterator[None]:
    """Bounds how many threads wait for the provider, and gives its failures one name."""
    from authlib.common.errors import AuthlibBaseError
    from joserfc.errors import JoseError
    from requests import RequestException

    if not _places.acquire(blocking=False):
        raise ProviderBusy
    try:
        yield
    except (AuthlibBaseError, JoseError, RequestException, ValueError, KeyError, RuntimeError) as error:
        raise ProviderFailed(type(error).__name__) from error
    finally:
        _places.release()


def _find_client() -> Any:  # Any: as above
    """Returns the client, with what the provider says of itself. It is made at the first login of a process."""
    global _client
    if _client is None or _client[0] < time.monotonic() - REFRESH_S:
        _client = (time.monotonic(), _make_client())
    client = _client[1]
    try:
        metadata = client.load_server_metadata()
    except Exception:
        _client = None
        raise
    if metadata.get("issuer") != settings.OIDC_ISSUER:
        _client = None
        raise ProviderFailed("it calls itself by another address than FIELDFLAME_OIDC_ISSUER")
    return client


def _make_client() -> Any:  # Any: as above
    from authlib.integrations.django_client import OAuth

    oauth = OAuth()
    client_kwargs: dict[str, Any] = {  # Any: as above
        "scope": settings.OIDC_SCOPES,
        "code_challenge_method": "S256",
        "default_timeout": settings.OIDC_WAIT_S,
        "max_redirects": 3,
    }
    if store := ssl.get_default_verify_paths().cafile:  # the system's certificates, as everywhere else
        client_kwargs["verify"] = store
    return oauth.register(
        name="provider",
        server_metadata_url=settings.OIDC_ISSUER.rstrip("/") + "/.well-known/openid-configuration",
        client_id=settings.OIDC_CLIENT_ID,
        client_secret=settings.OIDC_CLIENT_SECRET,
        client_kwargs=client_kwargs,
    )
