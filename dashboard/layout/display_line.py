"""The line that says whether display rules are applied, with a link that turns them off or on."""

from dataclasses import dataclass

from django.http import HttpRequest

from aggregate.selectors.functions.table import FunctionTable
from aggregate.selectors.slice.slices import AS_STORED, DISPLAY, Slice
from projects.models import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayLine:
    """Whether rules are applied, and a `link` to the same page the other way.

    Counts are None on pages that do not count functions.
    """

    is_applied: bool
    link: str
    rule_count: int
    stored_count: int | None = None
    shown_count: int | None = None


def build_display_line(
    request: HttpRequest, project: Project, slice_: Slice, table: FunctionTable | None = None
) -> DisplayLine | None:
    """Returns the line for a page that shows functions; None if the project has no rules."""
    if not project.display_rules:
        return None
    params = request.GET.copy()
    params.pop(DISPLAY, None)
    if not slice_.as_stored:
        params[DISPLAY] = AS_STORED
    query = params.urlencode(safe="/:")
    return DisplayLine(
        is_applied=not slice_.as_stored,
        link=request.path + (f"?{query}" if query else ""),
        rule_count=len(project.display_rules),
        stored_count=table.stored_count if table else None,
        shown_count=table.function_count if table else None,
    )
