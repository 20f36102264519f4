"""The line that says that display rules are applied, with the way to see functions as they are stored, and back."""

from dataclasses import dataclass

from django.http import HttpRequest

from aggregate.selectors import FunctionTable, Slice
from aggregate.selectors.slices import AS_STORED, DISPLAY
from ingest.models import Project


@dataclass(frozen=True, slots=True)
class DisplayLine:
    """`link` shows the same page the other way. Counts are None where the page does not count functions."""

    is_applied: bool
    link: str
    rule_count: int
    stored_count: int | None = None
    shown_count: int | None = None


def build_display_line(
    request: HttpRequest, project: Project, slice_: Slice, table: FunctionTable | None = None
) -> DisplayLine | None:
    """Returns the line of a page that shows functions; None for a project without rules."""
    if not project.display_rules:
        return None
    params = request.GET.copy()
    params.pop(DISPLAY, None)
    if not slice_.as_stored:
        params[DISPLAY] = AS_STORED
    query = params.urlencode(safe="/:")
    return DisplayLine(
        not slice_.as_stored,
        request.path + (f"?{query}" if query else ""),
        len(project.display_rules),
        table.stored_count if table else None,
        table.function_count if table else None,
    )
