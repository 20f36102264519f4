"""The query of the page "Compare": two sides of a slice, and which rows of their comparison to show."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from django.http import HttpRequest, QueryDict

from aggregate.selectors.project.pages import ReleaseRow, select_releases
from aggregate.selectors.slice.slices import Slice, SliceError
from dashboard.layout.sides import SideQueries, Sides, find_default_sides, read_side_queries, settle_sides
from dashboard.web.params import EVERY_FUNCTION, Narrowing, ParamError, read_choice, read_count, read_measure
from dashboard.web.queries import read_page_narrowing, read_page_slice
from dashboard.web.verdicts import choose_base_of, select_newest
from profcore.stats.views import Measure
from projects.models import Project

# What a table can be narrowed to; together they are all rows.
KINDS: Final = ("increases", "decreases", "new", "gone")
SORTS: Final = ("change", "q")
GROUPED_BY: Final = ("function", "file", "package", "category")
DEFAULT_MEASURE: Final[Measure] = "self+hidden"
SHOWN_ROWS: Final = 25  # fills a few screens of a phone
MORE_ROWS: Final = 500  # 0.7 MB of page; the CSV has all rows


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """Which rows of a comparison are shown, of functions or of groups. Without `noise`, only significant changes.

    `narrowing` comes from the slice bar; for groups only its search counts.
    """

    by: str = "function"
    measure: Measure = DEFAULT_MEASURE
    only: str = ""
    noise: bool = False
    sort: str = "change"
    narrowing: Narrowing = EVERY_FUNCTION
    limit: int = SHOWN_ROWS
    is_plain: bool = False

    @classmethod
    def read(cls, params: QueryDict) -> Self:
        """Reads the options from an address. Raises `ParamError`."""
        by = read_choice(params, "group_by", GROUPED_BY, "function")
        return cls(
            by=by,
            measure=read_measure(params, group_by=by, default=DEFAULT_MEASURE),
            only=read_choice(params, "only", ("", *KINDS), ""),
            noise=read_choice(params, "noise", ("", "1"), "") == "1",
            sort=read_choice(params, "sort", SORTS, "change"),
            narrowing=read_page_narrowing(params),
            limit=read_count(params, "limit", default=SHOWN_ROWS, high=MORE_ROWS),
            is_plain=read_choice(params, "plain", ("", "1"), "") == "1",
        )

    def params(self) -> list[tuple[str, str]]:
        """Returns what differs from the default as query parameters."""
        return [*self.table_params(), *self.narrowing.params()]

    def table_params(self) -> list[tuple[str, str]]:
        """Returns the same without the parameters of the slice bar."""
        pairs = [
            ("group_by", self.by if self.by != "function" else ""),
            ("measure", self.measure if self.measure != DEFAULT_MEASURE else ""),
            ("only", self.only),
            ("noise", "1" if self.noise else ""),
            ("sort", self.sort if self.sort != "change" else ""),
            ("limit", str(self.limit) if self.limit != SHOWN_ROWS else ""),
            ("plain", "1" if self.is_plain else ""),
        ]
        return [(name, value) for name, value in pairs if value]

    def with_changes(self, **changes: object) -> Self:
        """Returns the same options with some changed, from the first rows on."""
        return replace(self, **{"limit": SHOWN_ROWS, **changes})  # type: ignore[arg-type]  # its own fields

    def grouped_by(self, by: str) -> Self:
        """Returns the same options for another grouping; groups have no totals."""
        measure = DEFAULT_MEASURE if self.measure == "total" and by != "function" else self.measure
        return self.with_changes(by=by, measure=measure)

    def without_search(self) -> Self:
        """Returns the same options without the search."""
        return replace(self, narrowing=replace(self.narrowing, search=""))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareQuery:
    """An address of the page, read once.

    `whole` is its slice, `slice_` the part of it that two sides can share: whole page views, nothing finer. `queries`
    are the sides as named, `default` those of an address without sides. `sides` is None if the address contradicts
    itself (then `problem` says how), or if it names no sides and the project has only one release.
    """

    project: Project
    whole: Slice
    slice_: Slice
    releases: Sequence[ReleaseRow]
    queries: SideQueries
    default: Sides | None
    sides: Sides | None
    problem: SliceError | None
    options: TableOptions

    @classmethod
    def read(cls, request: HttpRequest, project: Project, *, needs_releases: bool = False) -> Self:
        """Reads an address. Raises `ParamError`, and `SliceError` for the slice; `problem` has that of the sides.

        Releases are only read if they are needed: by the chooser, or for the default of an address without sides.
        """
        whole = read_page_slice(request, project)
        slice_ = replace(whole, views=(), traces=(), tags=(), func_over=())
        queries = read_side_queries(request.GET)
        releases = select_releases(project.pk) if needs_releases or queries.is_empty else []
        default = find_default_sides(
            slice_,
            select_newest(slice_, releases) if releases else [],
            releases,
            lambda head, candidates: choose_base_of(project.pk, head, candidates, releases),
        )
        sides, problem = default, None
        if not queries.is_empty:
            try:
                sides = settle_sides(slice_, queries)
            except SliceError as error:
                sides, problem = None, error
        return cls(
            project=project,
            whole=whole,
            slice_=slice_,
            releases=releases,
            queries=queries,
            default=default,
            sides=sides,
            problem=problem,
            options=TableOptions.read(request.GET),
        )

    @property
    def common(self) -> Slice:
        """What both sides share."""
        return self.sides.common if self.sides else self.slice_

    def require_sides(self) -> Sides:
        """Returns the sides. Raises `SliceError` or `ParamError` if there are none."""
        if self.problem is not None:
            raise self.problem
        if self.sides is None:
            raise ParamError("base_release", "There is only one release: name two pages, times or devices to compare.")
        return self.sides
