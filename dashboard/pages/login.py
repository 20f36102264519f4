"""Logging in, at a pace at which passwords cannot be guessed and cost no more than some of the processor.

django-axes counts wrong passwords by name and network. Checking a password takes 0.3 s of a processor on purpose, so a
process checks few at a time.
"""

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from prometheus_client import Counter

AT_ONCE: Final = 2  # passwords that a process checks at once: half of the cores of a small server, with two processes
MAY_WAIT: Final = 8  # others that wait for it, for about a second; each keeps a thread
BUSY_S: Final = 5
LOGINS_REFUSED: Final = Counter(
    "fieldflame_logins_refused_total",
    "Logins that were refused unchecked, by reason (locked_out: too many wrong passwords; busy: too many at once)",
    ["reason"],
)

_places = threading.BoundedSemaphore(AT_ONCE + MAY_WAIT)
_turns = threading.BoundedSemaphore(AT_ONCE)


class LogIn(LoginView):
    """Asks for a name and a password; who is logged in already goes on."""

    template_name = "dashboard/account/login.html"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:  # Any: as in Django's stubs
        provider = settings.OIDC_NAME if settings.OIDC_ISSUER else ""
        return super().get_context_data(**kwargs) | {"provider": provider, "has_passwords": settings.PASSWORD_LOGIN}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:  # type: ignore[override]  # Any: as in Django's stubs
        """Checks a login, or refuses it unchecked if too many others are being checked, or if passwords are off."""
        if not settings.PASSWORD_LOGIN:
            raise PermissionDenied
        try:
            with password_turn():
                return super().post(request, *args, **kwargs)
        except TooManyPasswords:
            return refuse_busy(request)

    def form_valid(self, form: Any) -> HttpResponse:  # Any: as in Django's stubs
        """Logs in. Who was on the way to the provider before has a session that ends soon; this one does not."""
        answer = super().form_valid(form)
        self.request.session.set_expiry(None)
        return answer


class TooManyPasswords(Exception):
    """As many passwords as may wait are waiting to be checked."""


@contextmanager
def password_turn() -> Iterator[None]:
    """Waits until this process may check a password. Raises `TooManyPasswords`."""
    if not _places.acquire(blocking=False):
        raise TooManyPasswords
    try:
        with _turns:
            yield
    finally:
        _places.release()


def is_password_of(request: HttpRequest, user: User, password: str) -> bool:
    """Returns whether a password is the user's. Wrong ones are counted as those of a login, and lock the user out."""
    if not settings.PASSWORD_LOGIN:  # nothing counts then, and nothing can be guessed by a login
        return user.check_password(password)
    return authenticate(request, username=user.get_username(), password=password) == user


def refuse_busy(request: HttpRequest) -> HttpResponse:
    return refuse(request, "busy", status=503, retry_after_s=BUSY_S)


def answer_locked_out(
    request: HttpRequest, response: HttpResponse, credentials: Mapping[str, object] | None
) -> HttpResponse:
    """Answers a login of a user who is locked out. django-axes calls it (AXES_LOCKOUT_CALLABLE)."""
    return refuse(request, "locked_out", status=429, retry_after_s=settings.LOGIN_LOCK_S)


def refuse(request: HttpRequest, reason: str, *, status: int, retry_after_s: int) -> HttpResponse:
    LOGINS_REFUSED.labels(reason=reason).inc()
    values = {"reason": reason, "minutes": math.ceil(retry_after_s / 60)}
    response = render(request, "dashboard/account/login_refused.html", values, status=status)
    response["Retry-After"] = str(retry_after_s)
    response["Cache-Control"] = "no-store"
    # It is counted, not logged: a line for each would let anybody fill the disk. The mark is Django's own.
    response._has_been_logged = True  # type: ignore[attr-defined]  # not in the stubs
    return response
