"""Logging in by a provider (OpenID Connect): to it, back from it, and linking one's account with it."""

import logging
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dashboard.pages.login import LOGINS_REFUSED, refuse
from dashboard.web.logins.acting import hide_network
from dashboard.web.logins.provider import ProviderBusy, ProviderFailed, begin, finish
from projects.accounts.sign_in import SignInRefused, link_account, sign_in
from projects.audit.actors import Actor, ActorKind, acting_as

logger = logging.getLogger(__name__)

BACKEND: Final = "dashboard.web.logins.provider.ProviderBackend"
NEXT: Final = "provider_next"  # in the session: where to go afterwards
LINK: Final = "provider_link"  # in the session: the account that asked to be linked
WAIT_S: Final = 900  # for a user at the provider; then the session that waits for them ends
BUSY_S: Final = 5


@never_cache
@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """Redirects to the provider. It is a link, because the pages' policy lets no form lead to another host."""
    check_on()
    address = request.GET.get("next", "")
    if not request.user.is_authenticated:
        request.session.set_expiry(WAIT_S)
        request.session[NEXT] = address
    elif request.session.get(LINK) != request.user.pk:
        return go_on(request, address)  # as the login does: a session that is valid is not changed
    try:
        return begin(request, request.build_absolute_uri(reverse("provider-return")))
    except ProviderBusy:
        return refuse(request, "busy", status=503, retry_after_s=BUSY_S)
    except ProviderFailed as error:
        return fail(request, error)


@never_cache
@require_safe
def come_back(request: HttpRequest) -> HttpResponse:
    """Logs in whom the provider names, or links the account that asked for it."""
    check_on()
    try:
        person = finish(request)
        with acting_as(lambda: Actor(ActorKind.PROVIDER, name=person.name[:150], network=hide_network(request))):
            if request.user.is_authenticated and request.session.pop(LINK, None) == request.user.pk:
                link_account(request.user, person)
                messages.success(request, f"Your account is linked. You can log in with {settings.OIDC_NAME} now.")
                return HttpResponseRedirect(reverse("account"))
            user = sign_in(person, settings.OIDC_ROLES, link_by_name=settings.OIDC_LINK_BY_NAME)
    except ProviderBusy:
        return refuse(request, "busy", status=503, retry_after_s=BUSY_S)
    except ProviderFailed as error:
        return fail(request, error)
    except SignInRefused as error:
        LOGINS_REFUSED.labels(reason="provider").inc()
        return show_problem(request, str(error), status=403)
    address = request.session.get(NEXT, "")
    login(request, user, backend=BACKEND)
    # A length of time is from now on; a number of seconds would be from each change of the session.
    request.session.set_expiry(timedelta(hours=settings.OIDC_SESSION_HOURS))
    return go_on(request, address)


def go_on(request: HttpRequest, address: str) -> HttpResponse:
    """Redirects to an address of this site, or to the projects."""
    is_here = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return HttpResponseRedirect(address if address and is_here else reverse("projects"))


@never_cache
@require_POST
@login_required
def link(request: HttpRequest) -> HttpResponse:
    """Notes that this account wants to be linked, and shows the way to the provider."""
    check_on()
    request.session[LINK] = request.user.pk
    return render(request, "dashboard/account/link.html", context())


def context() -> dict[str, Any]:  # Any: values of a template
    """Returns what pages about logins say of the provider and of passwords."""
    return {"provider": settings.OIDC_NAME if settings.OIDC_ISSUER else "", "has_passwords": settings.PASSWORD_LOGIN}


def check_on() -> None:
    """Raises `Http404` if the server has no provider."""
    if not settings.OIDC_ISSUER:
        raise Http404("There is no provider.")


def fail(request: HttpRequest, error: ProviderFailed) -> HttpResponse:
    LOGINS_REFUSED.labels(reason="provider").inc()
    logger.warning("A login by the provider failed: %s.", error)
    message = (
        f"The login by {settings.OIDC_NAME} did not work. Try again. If it goes on, tell the operator of this server."
    )
    return show_problem(request, message, status=502)


def show_problem(request: HttpRequest, message: str, *, status: int) -> HttpResponse:
    return render(request, "dashboard/account/provider_problem.html", context() | {"message": message}, status=status)
