"""Opening a shared link: it becomes a cookie for the addresses below it, and leads to its page."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import get_script_prefix, reverse
from django.views.decorators.http import require_safe

from dashboard.web.guests.links import LinkRefused, protect, read_link, refuse
from dashboard.web.guests.middleware import COOKIE, area_of


@require_safe
def open_link(request: HttpRequest, token: str) -> HttpResponse:
    """Redirects to the page of a link. After that, the link's secret is in no address.

    The middleware took the link out of the path, so `token` says nothing. The cookie ends with the browser. It is
    `Lax`, since people come by a link from elsewhere.
    """
    clear: str = request.shared_link  # type: ignore[attr-defined]  # by the middleware
    try:
        link = read_link(request, clear)
    except LinkRefused as error:
        return refuse(request, error.reason)
    area = area_of(link.prefix)
    project = area + reverse("overview", args=[link.project.slug]).removeprefix(get_script_prefix())
    response = HttpResponseRedirect(project + link.page)
    response.set_cookie(COOKIE, clear, path=area, httponly=True, secure=settings.SESSION_COOKIE_SECURE, samesite="Lax")
    return protect(response)
