"""The query in the address of a function's page: which function, in which slice, by which measure."""

from dataclasses import dataclass, replace
from typing import Final, cast

from django.http import Http404, HttpRequest
from django.urls import reverse

from aggregate.selectors.code.refs import FuncRef, find_ref
from aggregate.selectors.functions.calls import select_func
from aggregate.selectors.functions.display_rows import is_made_id
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.slice.slices import Slice, read_func_id
from dashboard.web.access import get_visible_project
from dashboard.web.params import read_choice
from dashboard.web.queries import read_page_slice, write_query
from profcore.stats.views import Measure
from projects.models import Project

# (measure, its word, what it means); the first is the default, as in the table of functions
MEASURES: Final[tuple[tuple[Measure, str, str], ...]] = (
    (
        "self+hidden",
        "Self + hidden",
        "Self time plus hidden time that was probably its own; that part is inferred",
    ),
    ("self", "Self", "Time with the function on top of the stack"),
    ("total", "Total", "Time in the function and in all its callees"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionQuery:
    """One function in one slice. Trends and breakdowns are by `measure`.

    `func` is as the slice's newest release has it.
    """

    project: Project
    func: FunctionRow
    ref: FuncRef
    slice_: Slice
    measure: Measure

    @property
    def word(self) -> str:
        """The measure's label."""
        return next(word for name, word, _ in MEASURES if name == self.measure)

    @property
    def kept(self) -> list[tuple[str, str]]:
        """Parameters that links keep, in addition to the slice."""
        return [("measure", self.measure)] if self.measure != MEASURES[0][0] else []

    def link(self, slice_: Slice | None = None, **more: str) -> str:
        """Returns the address of this page, of this slice or another."""
        return self._address("function", [], slice_, more)

    def part_link(self, part: str, slice_: Slice | None = None, **more: str) -> str:
        """Returns the address of a part of this page."""
        return self._address("function-part", [part], slice_, more)

    def narrowed(self) -> Slice:
        """Returns the slice's page views that ran it."""
        return replace(self.slice_, func_over=(*self.slice_.func_over, (self.func.id, 0)))

    def _address(self, name: str, args: list[str], slice_: Slice | None, more: dict[str, str]) -> str:
        pairs = {**dict(self.kept), **more}.items()
        query = write_query([*(slice_ or self.slice_).params(), *pairs])
        return reverse(name, args=[self.project.slug, self.func.id, *args]) + (f"?{query}" if query else "")


def read_function_query(request: HttpRequest, slug: str, func_id: str) -> FunctionQuery:
    """Reads a page's or part's address. Raises Http404, `ParamError` and `SliceError`.

    A group of a display rule is not a function: it has a page of its own.
    """
    project = get_visible_project(request.user, slug)
    row_id = read_func_id(func_id)
    slice_ = read_page_slice(request, project)
    func = None if row_id is None or is_made_id(row_id) else select_func(project.pk, row_id, releases=slice_.releases)
    if func is None:
        raise Http404("There is no such function.")
    measure = cast("Measure", read_choice(request.GET, "measure", [name for name, _, _ in MEASURES], MEASURES[0][0]))
    ref = find_ref(project.pk, func.id)
    return FunctionQuery(project=project, func=func, ref=ref, slice_=slice_, measure=measure)
