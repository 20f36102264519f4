"""Template helpers for shared links: what a guest sees of a page, and how long a link may be valid."""

from collections.abc import Sequence
from typing import Protocol

from django import template

from dashboard.web.access import Guest
from dashboard.web.project_pages import PAGES
from projects.shared_links import list_expiry_days


class Named(Protocol):
    """A tab: the name of its address."""

    @property
    def name(self) -> str: ...


register = template.Library()


@register.filter
def open_to(tabs: Sequence[Named], user: object) -> Sequence[Named]:
    """Returns the tabs that a user may open: guests only some of them."""
    return [tab for tab in tabs if PAGES[tab.name].for_guests == "open"] if isinstance(user, Guest) else tabs


@register.simple_tag
def expiry_days() -> Sequence[int]:
    """Returns the days that a link may be valid; none if sharing is switched off."""
    return list_expiry_days()
