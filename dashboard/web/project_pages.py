"""The registry of a project's pages and their parts. Endpoints of the read API have the same traits.

Tabs, the slice bar, load shedding, the replica, shared links, saved views and the tests' list of addresses all read it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.http import HttpRequest, HttpResponse
from django.urls import ResolverMatch, URLPattern, path

View = Callable[..., HttpResponse]
PROJECT: Final = "projects/<slug:slug>/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """A tab: its label, the key after `g` that opens it, and whether it takes the slice along."""

    label: str
    key: str
    takes_slice: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTraits:
    """What the dashboard knows of an address below a project's.

    - `path` is below the project's address, `name` the one for `reverse`.
    - `heavy` reads get one of a few places (`load_shedding`): always, or with `plain=1`, when the page contains the
      parts that its script would fetch.
    - `on_replica`: it reads sums of traces, and nothing that a person or a build has just changed.
    - `for_guests`: a shared link can open it ("open"), or the pages it opens fetch it ("fetch").
    - `is_saveable`: it shows a slice, and can be saved as a view.
    - `narrows`: it shows functions, which a category and a search narrow down. The search field is in the slice bar, or
      on the page itself if that has a script.
    """

    name: str = ""
    path: str = ""
    tab: Tab | None = None
    heavy: Literal["no", "plain", "yes"] = "no"
    on_replica: bool = False
    for_guests: Literal["no", "fetch", "open"] = "no"
    is_saveable: bool = False
    narrows: Literal["no", "bar", "page"] = "no"

    def is_heavy(self, request: HttpRequest) -> bool:
        """Returns whether a request of this page gets one of the places for heavy reads."""
        return self.heavy == "yes" or (self.heavy == "plain" and "plain" in request.GET)


UNKNOWN: Final = PageTraits()
PAGES: Final[dict[str, PageTraits]] = {}  # in the order of the tabs, filled by the addresses


def find_traits(match: ResolverMatch | None) -> PageTraits:
    """Returns the traits of an address's view, which may be a class; `UNKNOWN` if it has none."""
    view: Any = match and match.func
    traits: PageTraits = getattr(getattr(view, "cls", view), "traits", UNKNOWN)
    return traits


def only_reads(match: ResolverMatch | None) -> bool:
    """Returns whether an endpoint changes nothing by any method (`ProjectView.only_reads`)."""
    return bool(getattr(getattr(match and match.func, "cls", None), "only_reads", False))


def make_paths(*views: Any) -> list[URLPattern]:  # Any: views that `project_page` has decorated
    """Returns the addresses of decorated views, and adds their pages to the registry: tabs in this order."""
    PAGES.update({view.traits.name: view.traits for view in views})
    return [path(PROJECT + view.traits.path, view, name=view.traits.name) for view in views]
