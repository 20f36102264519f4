"""What the pages of administration share: they are for superusers, and each names its neighbours."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard.web.decorators import private_form

PageView = Callable[..., HttpResponse]
# (name of its address, word), in the order of the list next to the pages
SECTIONS: Final = (("users", "Users"), ("audit", "Audit log"))


def administration_page(view: PageView) -> PageView:
    """Makes a view a page for superusers; others get status 403."""

    @private_form
    @wraps(view)
    def answer(request: HttpRequest, **ids: Any) -> HttpResponse:  # Any: the address's parts
        if not getattr(request.user, "is_superuser", False):
            raise PermissionDenied
        return view(request, **ids)

    return answer


def render_page(
    request: HttpRequest, template: str, here: str, *, status: int = 200, **context: object
) -> HttpResponse:
    """Returns a page of administration; `here` is the name of its section's address."""
    shared = {
        "sections": [(word, reverse(name), name == here) for name, word in SECTIONS],
        "section_word": dict(SECTIONS)[here],
    }
    return render(request, f"dashboard/administration/{template}.html", shared | context, status=status)
