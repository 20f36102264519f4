"""What a function costs, as its page shows it: in the slice, and by page, dimension and day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.conf import settings
from django.http import QueryDict
from django.urls import reverse

from aggregate.selectors.page_views.raw_traces import count_raw
from aggregate.selectors.slice.slices import Slice, SliceError
from aggregate.selectors.statistics.function_costs import FuncCost, select_costs
from dashboard.layout.dot_chart import DotChart, Point, draw_dots
from dashboard.layout.export_menu import build_export_menu
from dashboard.pages.function.query import FunctionQuery
from dashboard.templatetags.figures import count, interval_as_time, ms_as_time, visible
from profcore.stats.summaries import MIN_VIEWS, FuncSummary
from profcore.stats.views import Measure
from profcore.trace.dimensions import Dimension

Context = Mapping[str, object]
MOST_PAGES: Final = 15  # with intervals: 400 views are read for each
MOST_DAYS: Final = 14  # and so here
COST_MEASURES: Final[tuple[Measure, ...]] = ("self+hidden", "self", "total", "hidden")


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """The cost of a function in one release, page or day. `link` leads to the function's page there."""

    cost: FuncCost
    ms: float | None
    share: float | None
    summary: FuncSummary | None
    link: str
    page_link: str = ""
    is_marked: bool = False


def build_cost(query: FunctionQuery, _params: QueryDict) -> Context:
    """Returns the cost in the slice, and the exports."""
    costs = select_costs(query.slice_, query.ref, None, measures=COST_MEASURES).rows
    narrowed = query.narrowed()
    is_narrowed = bool(costs) and _may_export(narrowed, costs[0].sums.func_views)
    context: dict[str, object] = {
        "export": build_export_menu(query.project, narrowed if is_narrowed else query.slice_, func=query.func.label),
        "is_narrowed": is_narrowed,
        "everything_link": query.link(Slice(project_id=query.project.pk)),
    }
    if costs:
        context["cost"] = costs[0]
        # Where no view looked at had any self time, all percentiles are 0; with too few views there are no percentiles.
        context["no_percentile"] = None if costs[0].is_too_few else 0.0
        context["has_copies"] = bool(costs[0].summaries) and "total" not in costs[0].summaries
        context["rows"] = {
            "cost" if measure == "self+hidden" else measure: make_row(query, costs[0], query.slice_, measure)
            for measure in COST_MEASURES
        }
    return context


def _may_export(narrowed: Slice, func_views: int) -> bool:
    """Returns whether the views that ran it can be exported at once: they are few, and their raw bodies are kept."""
    most = settings.READ_MAX_RAW_TRACES
    if not 0 < func_views <= most:
        return False
    try:
        traces, gone = count_raw(narrowed)
    except SliceError:
        return False
    return traces <= most and not gone


def build_pages(query: FunctionQuery, _params: QueryDict) -> Context:
    """Returns the pages where the function costs most."""
    costs = select_costs(query.slice_, query.ref, "page", measures=(query.measure,), limit=MOST_PAGES)
    functions = reverse("functions", args=[query.project.slug])
    rows = []
    for cost in costs.rows:
        of_page = replace(query.slice_, pages=(cost.sums.value,))
        if cost.sums.total_us or cost.sums.hidden_us:
            row = make_row(query, cost, of_page)
            rows.append(replace(row, page_link=f"{functions}?{of_page.query()}"))
    return {"rows": rows, "row_count": costs.row_count, "is_cut": len(rows) == MOST_PAGES < costs.row_count}


def build_dimension(dimension: Dimension, query: FunctionQuery, _params: QueryDict) -> Context:
    """Returns the cost by a dimension."""
    name = dimension.name
    costs = select_costs(query.slice_, query.ref, name, measures=(query.measure,))
    rows = [make_row(query, cost, query.slice_.with_values(name, cost.sums.value)) for cost in costs.rows]
    return {"rows": rows, "what": dimension.title}


def build_days(query: FunctionQuery, _params: QueryDict) -> Context:
    """Returns the cost on each of the last days."""
    costs = select_costs(query.slice_, query.ref, "day", measures=(query.measure,), limit=MOST_DAYS)
    rows = [make_row(query, cost, query.slice_) for cost in costs.rows]
    return {
        "rows": rows,
        "what": "Day (UTC)",
        "chart": draw_rows(query, rows),
        "left_out": costs.row_count - len(rows),
    }


def make_row(query: FunctionQuery, cost: FuncCost, slice_: Slice, measure: Measure | None = None) -> CostRow:
    """Returns the row of a part of the slice, by a measure (default: the query's)."""
    by = measure or query.measure
    return CostRow(
        cost=cost, ms=cost.ms_per_view(by), share=cost.share(by), summary=cost.estimate(by), link=query.link(slice_)
    )


def draw_rows(query: FunctionQuery, rows: Sequence[CostRow]) -> DotChart:
    """Returns the chart of some rows, in their order."""
    return draw_dots([_point(query, row) for row in rows])


def _point(query: FunctionQuery, row: CostRow) -> Point:
    sums = row.cost.sums
    ci95 = row.summary.ms_per_view.ci95 if row.summary else None
    sure = f", 95 % interval {interval_as_time(row.summary.ms_per_view)}" if row.summary and ci95 else ""
    few = f", too few for an interval (at least {MIN_VIEWS} needed)" if row.cost.is_too_few else ""
    text = f"{visible(sums.value)}: {ms_as_time(row.ms)} {query.word.lower()} per view{sure}"
    return Point(
        label=visible(sums.value),
        value=row.ms,
        low=ci95.low if ci95 else None,
        high=ci95.high if ci95 else None,
        text=f"{text}; {count(sums.views)} page view{'' if sums.views == 1 else 's'}{few}",
        is_weak=row.cost.is_too_few,
        is_marked=row.is_marked,
    )
