"""Parts of a function's page that lead further: callers and callees, and single page views."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from django.conf import settings
from django.http import QueryDict
from django.urls import reverse

from aggregate.selectors.functions.calls import CallRow, select_neighbours
from aggregate.selectors.page_views.contributions import sample_slice_views
from aggregate.selectors.page_views.fine_sums import SeenViews, select_seen_views
from aggregate.selectors.page_views.picked_views import ViewRow, pick_views
from aggregate.selectors.slice.slices import Slice
from dashboard.layout.export_menu import make_profile_url, name_view
from dashboard.pages.function.costs import Context
from dashboard.pages.function.query import FunctionQuery
from dashboard.web.queries import write_query
from projects.models import Project

MOST_CALLS: Final = 12  # callers, or callees: the sandwich has all
MOST_VIEWS: Final = 5  # of each kind


def build_calls(query: FunctionQuery, _params: QueryDict) -> Context:
    """Returns the callers and callees of the function."""
    neighbours = select_neighbours(query.slice_, query.func.id)
    sandwich = [("show", "sandwich"), ("func", str(query.func.id))]
    # A display rule may have grouped the function: then these rows are as stored, and the graph must be too.
    is_stored = bool(query.project.display_rules) and not neighbours.callers.display_rules
    slice_ = replace(query.slice_, as_stored=query.slice_.as_stored or is_stored)
    link_query = write_query([*slice_.params(), *sandwich])
    return {
        "neighbours": neighbours,
        "sides": [
            _side("callers", "Callers", neighbours.callers.rows),
            _side("callees", "Callees", neighbours.callees.rows),
        ],
        "sandwich_link": f"{reverse('flame-graph', args=[query.project.slug])}?{link_query}",
    }


def _side(key: str, title: str, rows: Sequence[CallRow]) -> Context:
    return {"key": key, "title": title, "rows": rows[:MOST_CALLS], "left_out": len(rows[MOST_CALLS:])}


def build_views(query: FunctionQuery, _params: QueryDict) -> Context:
    """Returns the typical and the worst page views that ran it, from a uniform sample if there are very many."""
    slice_, ref = query.slice_, query.ref
    if slice_.is_fine:
        seen = select_seen_views(slice_, ref=ref, keep_funcs=ref.funcs)
        population = len(seen.views)
    else:
        views, population = sample_slice_views(slice_, ref, most=settings.TABLE_STATISTICS_MAX_VIEWS)
        seen = SeenViews("contributions", views)
    listed = [*slice_.params(), ("func", str(query.func.id)), ("order", "worst")]
    typical, worst = pick_views(slice_, seen, ref, ("typical", "worst"), MOST_VIEWS)
    return {
        "tables": [
            ("typical", "Typical: nearest to the median self time", _view_rows(query, typical.views)),
            ("worst", "Worst: most self time", _view_rows(query, worst.views)),
        ],
        "view_count": typical.view_count,
        "truncated_count": typical.truncated_count,
        "median_us": typical.median_us,
        "looked_at": len(seen.views),
        "population": population,
        "viewer_origin": settings.VIEWER_ORIGIN,
        "all_link": f"{reverse('views', args=[query.project.slug])}?{write_query(listed)}",
    }


def _slice_of(row: ViewRow, project: Project) -> Slice:
    """Returns the slice of one view on one page."""
    return Slice(project_id=project.pk, releases=(row.view.release,), pages=(row.view.page,), views=(row.view.view_id,))


def _link_to_view(query: FunctionQuery, row: ViewRow) -> str:
    """Returns the address of one view, within the slice."""
    pairs = [*query.slice_.params(), ("on_release", row.view.release), ("on_page", row.view.page)]
    address = reverse("view", args=[query.project.slug, row.view.view_id])
    return f"{address}?{write_query(pairs)}"


def _start_of(row: ViewRow) -> datetime:
    return min((trace.view_started_at for trace in row.traces), default=row.view.starts_at)


def _name_profile(project: Project, row: ViewRow) -> str:
    view = row.view
    return f"{project.slug} {view.release} {view.page} {name_view(_start_of(row), view.view_id)}"


def _view_rows(query: FunctionQuery, rows: Sequence[ViewRow]) -> list[Context]:
    """Returns views with the address of their page, and of their profile if its raw bodies are kept."""
    project = query.project
    return [
        {
            "row": row,
            "view": row.view,
            "at": _start_of(row),
            "dimensions": row.view.dimensions,
            "link": _link_to_view(query, row),
            "profile_name": _name_profile(project, row),
            "profile_url": make_profile_url(project, _slice_of(row, project))
            if row.traces and all(trace.trace_id for trace in row.traces)
            else None,
        }
        for row in rows
    ]
