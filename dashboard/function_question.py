"""What an address asks about one function: of which project, in which slice, by which measure."""

from dataclasses import dataclass, replace
from typing import Final, cast
from urllib.parse import urlencode

from django.http import Http404, HttpRequest
from django.urls import reverse

from aggregate.selectors import FunctionRow, Slice, select_func
from aggregate.selectors.refs import FuncRef, find_ref
from aggregate.selectors.shown_rows import is_made_id
from aggregate.selectors.slices import read_func_id
from dashboard.access import get_visible_project
from dashboard.params import read_choice
from dashboard.views import read_page_slice
from ingest.models import Project
from profcore.stats.views import Measure

# (measure, its word, what it means)
MEASURES: Final[tuple[tuple[Measure, str, str], ...]] = (
    ("self", "Self", "Time in the function itself: a stack was seen with it on top"),
    ("self+hidden", "Self + hidden", "With the time without a stack that was probably its own; that part is inferred"),
    ("total", "Total", "Time in the function and in all it called"),
)


@dataclass(frozen=True, slots=True)
class FunctionQuestion:
    """One function in one slice; `measure` is what trends and breakdowns are by."""

    project: Project
    func: FunctionRow
    ref: FuncRef
    slice_: Slice
    measure: Measure

    @property
    def word(self) -> str:
        """What the measure is called."""
        return next(word for name, word, _ in MEASURES if name == self.measure)

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What goes along in links, beside the slice."""
        return [("measure", self.measure)] if self.measure != "self" else []

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
        query = urlencode([*(slice_ or self.slice_).params(), *pairs], safe="/:")
        return reverse(name, args=[self.project.slug, self.func.id, *args]) + (f"?{query}" if query else "")


def read_function_question(request: HttpRequest, slug: str, func_id: str) -> FunctionQuestion:
    """Reads a page's or part's address. Raises Http404, `ParamError` and `SliceError`.

    What a display rule shows as one is no function of which parts could tell: it has a page of its own.
    """
    project = get_visible_project(request.user, slug)
    asked = read_func_id(func_id)
    func = None if asked is None or is_made_id(asked) else select_func(project.pk, asked)
    if func is None:
        raise Http404("There is no such function.")
    measure = cast("Measure", read_choice(request.GET, "measure", [name for name, _, _ in MEASURES], "self"))
    ref = find_ref(project.pk, func.id)
    return FunctionQuestion(project, func, ref, read_page_slice(request, project), measure)
