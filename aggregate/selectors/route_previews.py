"""What route rules would call the pages that are known now, before anything does."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection

from aggregate.selectors.overview import select_overview
from aggregate.selectors.slices import Slice
from ingest.bodies import BodyTooLarge, expand
from profcore.addresses import PageFacts, read_page_facts
from profcore.errors import TraceError
from profcore.routes import route_of_path, route_of_url

# Traces whose addresses are tried: a body of 16 kB takes some 0.2 ms, and larger ones than this are passed over.
PREVIEW_MAX_TRACES: Final = 200
PREVIEW_MAX_BODY_BYTES: Final = 256 * 2**10  # as stored, mostly packed
PREVIEW_MAX_EXPANDED_BYTES: Final = 4 * 2**20
PREVIEW_MAX_PAGES: Final = 2_000  # those with the most JS time; each is held against each rule, some 5 µs
MAX_EXAMPLES: Final = 5  # of the pages that become one


@dataclass(frozen=True, slots=True)
class RenamedPages:
    """Pages that would have one name: how many there are, their page views, and some of their names now."""

    name: str
    page_count: int
    views: int
    examples: Sequence[str]
    is_known: bool  # it is a page already, which would have these views too

    @property
    def more_count(self) -> int:
        """How many pages there are beside the examples."""
        return self.page_count - len(self.examples)


@dataclass(frozen=True, slots=True)
class RoutePreview:
    """How many pages were looked at and how many names they would have; those that change, most views first.

    `page_count` of a project with more than `PREVIEW_MAX_PAGES` is not all: `is_complete` says so.
    """

    page_count: int
    name_count: int
    views: int
    is_complete: bool
    renamed: Sequence[RenamedPages]

    @property
    def renamed_views(self) -> int:
        """The page views of pages that would have another name."""
        return sum(row.views for row in self.renamed)


def preview_routes(project_id: int, rules: Sequence[str]) -> RoutePreview:
    """Returns what rules would call a project's pages. Nothing is stored, and nothing that is stored changes by them.

    A page's name is held against the rules as if it were a path: `/product/:id` fits `/product/:sku`. What a name has
    lost, such as what `:id` stood for, cannot come back. One statement.
    """
    overview = select_overview(Slice(project_id), ["page"], limit=PREVIEW_MAX_PAGES)
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
            name, len(pages), totals[name], sorted(pages, key=lambda p: (-views[p], p))[:MAX_EXAMPLES], name in views
        )
        for name, pages in by_name.items()
    ]
    renamed.sort(key=lambda row: (-row.views, row.name))
    return RoutePreview(
        len(views), len(set(names.values())), sum(views.values()), overview.row_count <= PREVIEW_MAX_PAGES, renamed
    )


@dataclass(frozen=True, slots=True)
class MovedRoute:
    """Addresses that would be another page: what they are by the rules so far, what they would be, how many traces."""

    before: str
    after: str
    traces: int


@dataclass(frozen=True, slots=True)
class AddressPreview:
    """How many traces were tried; how many name their page themselves; those that would move, most traces first."""

    trace_count: int
    named_count: int
    moved: Sequence[MovedRoute]

    @property
    def moved_count(self) -> int:
        """How many traces would go to another page."""
        return sum(row.traces for row in self.moved)


def preview_addresses(
    project_id: int, before: Sequence[str], after: Sequence[str], *, since: datetime
) -> AddressPreview:
    """Returns what rules would do with the addresses of some raw traces that came since a moment, by other rules.

    View ids are random, and so are the first of them. Only routes come out: addresses stay private. One statement.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT t.is_gzip, t.body FROM ingest_rawtrace t
               WHERE t.project_id = %s AND t.received_at >= %s AND octet_length(t.body) <= %s
               ORDER BY t.view_id, t.seq LIMIT %s""",
            [project_id, since, PREVIEW_MAX_BODY_BYTES, PREVIEW_MAX_TRACES],
        )
        facts = [found for is_gzip, body in cursor if (found := _read_page(is_gzip, bytes(body))) is not None]
    moved: Counter[tuple[str, str]] = Counter()
    for url in [each.url or "" for each in facts if not each.page]:
        pair = route_of_url(url, before), route_of_url(url, after)
        if pair[0] != pair[1]:
            moved[pair] += 1
    rows = [MovedRoute(*pair, traces) for pair, traces in moved.most_common()]
    return AddressPreview(len(facts), sum(bool(each.page) for each in facts), rows)


def _read_page(is_gzip: bool, body: bytes) -> PageFacts | None:
    try:
        return read_page_facts(expand(body, max_bytes=PREVIEW_MAX_EXPANDED_BYTES) if is_gzip else body)
    except (BodyTooLarge, TraceError):
        return None
