"""What route rules would call the pages that are known now, before anything does."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aggregate.selectors.overview import select_overview
from aggregate.selectors.slices import Slice
from profcore.routes import route_of_path

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
