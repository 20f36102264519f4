"""A preview of route rules: the names that they would give to pages and addresses."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from aggregate.raw_bodies import StoredBody, iter_first_bodies
from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.slice.slices import Slice
from ingest.endpoint.requests import BodyTooLarge
from profcore.errors import TraceError
from profcore.trace.routes import PageAddress, read_page_address, route_of_path, route_of_url

# Traces whose addresses are tried: a body of 16 kB takes about 0.2 ms, and bodies above the limits are passed over.
PREVIEW_MAX_TRACES: Final = 200
PREVIEW_MAX_BODY_BYTES: Final = 256 * 2**10  # as stored, mostly packed
PREVIEW_MAX_EXPANDED_BYTES: Final = 4 * 2**20
PREVIEW_MAX_PAGES: Final = 2_000  # those with the most JS time; each is matched against each rule, about 5 µs
MAX_EXAMPLES: Final = 5  # of the pages that become one


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamedPages:
    """Pages that would get the same name: how many there are, their page views, and some of their names now."""

    name: str
    page_count: int
    views: int
    examples: Sequence[str]
    is_known: bool  # the name is that of a page already, which would get these views too

    @property
    def more_count(self) -> int:
        """The number of pages that are not among the examples."""
        return self.page_count - len(self.examples)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutePreview:
    """The number of pages looked at and of names they would have; pages that change, most views first.

    If a project has more than `PREVIEW_MAX_PAGES`, `page_count` is not all of them, and `is_complete` is false.
    """

    page_count: int
    name_count: int
    views: int
    is_complete: bool
    renamed: Sequence[RenamedPages]

    @property
    def renamed_views(self) -> int:
        """The page views of pages that would get another name."""
        return sum(row.views for row in self.renamed)


def preview_routes(project_id: int, rules: Sequence[str]) -> RoutePreview:
    """Returns the names that rules would give to a project's pages. Nothing is stored, and stored pages stay.

    A page's name is matched against the rules as if it were a path: `/product/:id` fits `/product/:sku`. The value that
    `:id` stood for is lost and cannot be restored. One statement.
    """
    overview = select_overview(Slice(project_id=project_id), ["page"], limit=PREVIEW_MAX_PAGES)
    views = {row.page: row.views for row in overview.rows if row.page is not None}
    names = {page: route_of_path(page, rules) if page.startswith("/") else page for page in views}
    by_name: dict[str, list[str]] = {}
    for page, name in names.items():
        if name != page:
            by_name.setdefault(name, []).append(page)
    totals: Counter[str] = Counter()
    for page, name in names.items():
        totals[name] += views[page] if name != page else 0
    renamed = [
        RenamedPages(
            name=name,
            page_count=len(pages),
            views=totals[name],
            examples=sorted(pages, key=lambda p: (-views[p], p))[:MAX_EXAMPLES],
            is_known=name in views,
        )
        for name, pages in by_name.items()
    ]
    renamed.sort(key=lambda row: (-row.views, row.name))
    return RoutePreview(
        page_count=len(views),
        name_count=len(set(names.values())),
        views=sum(views.values()),
        is_complete=overview.row_count <= PREVIEW_MAX_PAGES,
        renamed=renamed,
    )


@dataclass(frozen=True, slots=True)
class MovedRoute:
    """Addresses that would get another page: their page by the present rules, by the new ones, and their traces."""

    before: str
    after: str
    traces: int


@dataclass(frozen=True, slots=True)
class AddressPreview:
    """The number of traces tried and of those that name their page themselves; moved routes, most traces first."""

    trace_count: int
    named_count: int
    moved: Sequence[MovedRoute]

    @property
    def moved_count(self) -> int:
        """The number of traces that would go to another page."""
        return sum(row.traces for row in self.moved)


def preview_addresses(
    project_id: int, before: Sequence[str], after: Sequence[str], *, since: datetime
) -> AddressPreview:
    """Returns how some raw traces received since a moment would move if rules changed from `before` to `after`.

    The result has only routes: addresses stay private. One statement.
    """
    bodies = iter_first_bodies(project_id, since=since, max_bytes=PREVIEW_MAX_BODY_BYTES, limit=PREVIEW_MAX_TRACES)
    page_facts = [facts for body in bodies if (facts := _read_page(body)) is not None]
    moved: Counter[tuple[str, str]] = Counter()
    for url in [facts.url or "" for facts in page_facts if not facts.page]:
        pair = route_of_url(url, before), route_of_url(url, after)
        if pair[0] != pair[1]:
            moved[pair] += 1
    rows = [MovedRoute(old, new, traces) for (old, new), traces in moved.most_common()]
    return AddressPreview(len(page_facts), sum(bool(facts.page) for facts in page_facts), rows)


def _read_page(body: StoredBody) -> PageAddress | None:
    try:
        return read_page_address(body.expand(max_bytes=PREVIEW_MAX_EXPANDED_BYTES))
    except (BodyTooLarge, TraceError):
        return None
