"""What a search finds, in groups: where to go, saved views, page views, functions, pages, releases, projects."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.db.models import Q
from django.urls import reverse

from aggregate.selectors.search.function_hits import find_functions
from aggregate.selectors.search.place_hits import PlaceHit, ViewHit, find_pages, find_releases, find_views
from aggregate.selectors.slice.slices import Slice
from dashboard.layout.saved_links import link_saved_view
from dashboard.layout.shell import build_tabs
from dashboard.pages.settings.layout import SECTIONS
from dashboard.web.access import Reader, visible_projects
from dashboard.web.queries import write_query
from projects.models import Project
from projects.saved_views import list_views

MIN_CHARS: Final = 2  # one letter is in nearly every name
OTHER_WAYS: Final = "more"  # the group of what can always be done: it is no result, as the palette's script knows
# Of each kind: together they fit into the palette without much scrolling.
MAX_FUNCTIONS: Final = 8
MAX_PLACES: Final = 5  # pages, and as many releases
MAX_PROJECTS: Final = 6
MAX_SAVED: Final = 6
# Projects whose data is searched from a page of no project. All are found by name.
MAX_SEARCHED_PROJECTS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One result: a link. `act` names what the palette's script does instead of following it."""

    word: str
    link: str
    under: str = ""
    act: str = ""
    key: str = ""  # after `g`
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Results of one kind; there is at least one."""

    key: str
    title: str
    entries: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Search:
    """A text, and where it is looked for: in one project, with the slice that links keep, or in all visible ones."""

    reader: Reader
    text: str
    project: Project | None = None
    slice_: Slice | None = None


def select_groups(search: Search, *, with_acts: bool) -> list[Group]:
    """Returns what a search finds; without a text, where to go. `with_acts` adds what only a script can do."""
    projects = list(visible_projects(search.reader)) if search.project is None else [search.project]
    groups = [
        Group("go", "Go to", _find_ways(search, with_acts=with_acts)),
        Group("saved", "Saved views", _find_saved(search)),
        *(_find_in_projects(search, projects[:MAX_SEARCHED_PROJECTS]) if len(search.text) >= MIN_CHARS else ()),
        Group("projects", "Projects" if search.project is None else "Switch project", _find_projects(search)),
        Group(OTHER_WAYS, "More", _find_table(search)),
    ]
    return [group for group in groups if group.entries]


def _find_ways(search: Search, *, with_acts: bool) -> list[Entry]:
    """Returns pages and actions whose words contain the text. Sections of the settings need a text."""
    project = search.project
    ways = []
    if project is not None:
        ways += [Entry(word=tab.word, link=tab.link, key=tab.key) for tab in build_tabs(project, search.slice_)]
        sections = SECTIONS if search.text else ()
        ways += [Entry(word=f"Settings: {word}", link=reverse(name, args=[project.slug])) for name, word in sections]
    if with_acts:
        ways += [
            Entry(word="Open in Firefox Profiler", link="", act="open-profile"),
            Entry(word="Copy page link", link="", act="copy-page"),
            Entry(word="Save this view…", link="", act="save-view"),
            Entry(word="Show keyboard shortcuts", link="", act="show-keys"),
        ]
    ways += [
        Entry(word="All projects", link=reverse("projects"), key="p"),
        Entry(word="Your account", link=reverse("account")),
        Entry(word="API documentation", link=reverse("api-docs")),
    ]
    return [way for way in ways if search.text.casefold() in way.word.casefold()]


def _find_saved(search: Search) -> list[Entry]:
    """Returns saved views of the project whose names contain the text."""
    project, user_id = search.project, getattr(search.reader, "pk", None)
    if project is None or user_id is None:
        return []
    views = list_views(project, user_id).filter(name__icontains=search.text)[:MAX_SAVED]
    return [Entry(word=view.name, link=link_saved_view(project, view)) for view in views]


def _find_table(search: Search) -> list[Entry]:
    """Returns the table of functions with this text as its search: it reads all of the slice's functions."""
    if search.project is None or len(search.text) < MIN_CHARS:
        return []
    pairs = [*(search.slice_.params() if search.slice_ else ()), ("q", search.text)]
    link = f"{reverse('functions', args=[search.project.slug])}?{write_query(pairs)}"
    return [Entry(word=f"Search the functions table for “{search.text}”", link=link)]


def _find_in_projects(search: Search, projects: Sequence[Project]) -> Iterable[Group]:
    """Yields page views by their trace, and functions, pages and releases of some projects."""
    known = {project.pk: project for project in projects}
    views = [
        Entry(
            word=row.page,
            link=_link_view(known[row.project_id], row),
            under=_under(search, known[row.project_id], f"{row.started_at:%Y-%m-%d %H:%M} UTC, release {row.release}"),
            is_code=True,
        )
        for row in find_views(list(known), search.text, limit=MAX_PLACES)
    ]
    yield Group("views", "Page views of this trace", views)
    functions = [
        Entry(
            word=row.name or "(anonymous)",
            link=_link(search, reverse("function", args=[known[row.project_id].slug, row.func_id])),
            under=_under(search, known[row.project_id], row.place),
            is_code=True,
        )
        for row in find_functions(list(known), search.text, limit=MAX_FUNCTIONS)
    ]
    pages, releases = (find(list(known), search.text, limit=MAX_PLACES) for find in (find_pages, find_releases))
    yield Group("functions", "Functions", functions)
    yield Group("pages", "Pages", [_make_place(search, known, "page", row) for row in pages])
    yield Group("releases", "Releases", [_make_place(search, known, "release", row) for row in releases])


def _make_place(search: Search, known: dict[int, Project], field: str, row: PlaceHit) -> Entry:
    """Returns a page, which leads to its functions, or a release, which leads to its overview; in the same slice."""
    project = known[row.project_id]
    slice_ = search.slice_ or Slice(project_id=project.pk)
    chosen = replace(slice_, pages=(row.name,)) if field == "page" else replace(slice_, releases=(row.name,))
    address = reverse("functions" if field == "page" else "overview", args=[project.slug])
    return Entry(
        word=row.name,
        link=f"{address}?{chosen.query()}",
        under=_under(search, project, ""),
        is_code=field == "page",
    )


def _link_view(project: Project, row: ViewHit) -> str:
    query = write_query({"on_release": row.release, "on_page": row.page})
    return f"{reverse('view', args=[project.slug, row.view_id])}?{query}"


def _link(search: Search, address: str) -> str:
    query = search.slice_.query() if search.slice_ else ""
    return f"{address}?{query}" if query else address


def _under(search: Search, project: Project, place: str) -> str:
    """Returns the second line of a result: its project too, if all are searched."""
    return " · ".join(part for part in ("" if search.project else project.name, place) if part)


def _find_projects(search: Search) -> list[Entry]:
    projects = visible_projects(search.reader)
    if search.text:
        projects = projects.filter(Q(name__icontains=search.text) | Q(slug__icontains=search.text))
    if search.project is not None:
        projects = projects.exclude(pk=search.project.pk)
    return [
        Entry(
            word=project.name,
            link=reverse("overview", args=[project.slug]),
            under=project.slug if project.slug != project.name else "",
        )
        for project in projects[:MAX_PROJECTS]
    ]
