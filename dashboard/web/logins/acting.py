"""Who acts in a request, for the log of administration."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.crypto import salted_hmac

from dashboard.web.logins.visitors import name_network
from dashboard.web.unavailable import answer_later
from projects.audit.actors import SERVER, Actor, ActorKind, acting_as
from projects.audit.entries import TooManyActs
from projects.models import ApiToken

NETWORK_CHARS: Final = 12  # two networks share a name once in 2^24


class ActingMiddleware:
    """Names the user or the token of a request as the actor. Nothing is computed unless something is written."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with acting_as(lambda: find_actor(request)):
            return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answers an act of someone who acts too often; passes on all other errors."""
        if not isinstance(error, TooManyActs):
            return None
        detail = str(error)
        return answer_later(
            request,
            api_detail=detail,
            page_detail=detail,
            retry_after_s=error.wait_s,
            title="Too many changes",
            status=429,
        )


def find_actor(request: HttpRequest) -> Actor:
    """Returns who acts: the token, else the user; a visitor who is not logged in has no name."""
    network = hide_network(request)
    token = getattr(request, "api_token", None)
    if isinstance(token, ApiToken):
        return Actor(ActorKind.TOKEN, token.pk, f"{token.prefix} {token.name}".strip(), network)
    user = request.user
    if user.is_authenticated:
        return Actor(ActorKind.USER, user.pk, user.get_username(), network)
    return Actor(ActorKind.USER, network=network) if network else SERVER


def hide_network(request: HttpRequest) -> str:
    """Returns what stands for the visitor's network: a hash with the server's secret as its key."""
    keyed = salted_hmac("fieldflame.audit.network", name_network(request), algorithm="sha256")
    return keyed.hexdigest()[:NETWORK_CHARS]
