"""What pages, the read API and the command line ask of the folded cells: plain values, one statement a question.

Every question goes through a project. Sums are µs and samples, exact; names of units are in the fields.
"""

from aggregate.selectors.arrivals import Arrivals, select_arrivals
from aggregate.selectors.calls import Calls, PrunedTree, select_call_tree, select_calls, select_func
from aggregate.selectors.census import DIMENSIONS, Census, CensusRow, select_census
from aggregate.selectors.code import select_code
from aggregate.selectors.columns import TreeColumns, TreeSide, select_tree_columns
from aggregate.selectors.estimates import TABLE_SORTS, Asked, select_estimated
from aggregate.selectors.exports import fingerprint_slice, select_slice_export
from aggregate.selectors.functions import FUNCTION_SORTS, FunctionRow, FunctionTable, select_functions
from aggregate.selectors.groups import GROUPINGS, select_groups
from aggregate.selectors.labels import label_func
from aggregate.selectors.last_release import (
    PageChange,
    ReleaseChange,
    compare_pages,
    compare_releases,
    pick_last_releases,
)
from aggregate.selectors.overview import OVERVIEW_DIMENSIONS, Overview, OverviewRow, select_overview
from aggregate.selectors.pages import PageRow, ReleaseRow, select_pages, select_releases
from aggregate.selectors.projects import (
    NewestTrace,
    ProjectDay,
    ProjectSummary,
    Status,
    select_newest_trace,
    select_project_days,
    select_project_summaries,
    select_status,
)
from aggregate.selectors.quality import select_measured, select_receipts, select_set_aside
from aggregate.selectors.requests import (
    EXPORT_FIELDS,
    ExportQuery,
    ExportRequest,
    fingerprint_export,
    resolve_export,
    select_export,
)
from aggregate.selectors.slices import Slice, SliceError, SliceQuery, resolve_slice
from aggregate.selectors.traces import (
    VIEW_ORDERS,
    TracePage,
    TraceRow,
    ViewRow,
    ViewTable,
    select_raw_body,
    select_trace,
    select_trace_page,
    select_traces,
    select_views,
)
from aggregate.selectors.trends import (
    TREND_LINES,
    TREND_MEASURES,
    Trend,
    TrendLine,
    TrendPoint,
    TrendSums,
    estimate_pages,
    estimate_trend,
    sum_trend,
)

__all__ = [
    "DIMENSIONS",
    "EXPORT_FIELDS",
    "FUNCTION_SORTS",
    "GROUPINGS",
    "OVERVIEW_DIMENSIONS",
    "TABLE_SORTS",
    "TREND_LINES",
    "TREND_MEASURES",
    "VIEW_ORDERS",
    "Arrivals",
    "Asked",
    "Calls",
    "Census",
    "CensusRow",
    "ExportQuery",
    "ExportRequest",
    "FunctionRow",
    "FunctionTable",
    "NewestTrace",
    "Overview",
    "OverviewRow",
    "PageChange",
    "PageRow",
    "ProjectDay",
    "ProjectSummary",
    "PrunedTree",
    "ReleaseChange",
    "ReleaseRow",
    "Slice",
    "SliceError",
    "SliceQuery",
    "Status",
    "TracePage",
    "TraceRow",
    "TreeColumns",
    "TreeSide",
    "Trend",
    "TrendLine",
    "TrendPoint",
    "TrendSums",
    "ViewRow",
    "ViewTable",
    "compare_pages",
    "compare_releases",
    "estimate_pages",
    "estimate_trend",
    "fingerprint_export",
    "fingerprint_slice",
    "label_func",
    "pick_last_releases",
    "resolve_export",
    "resolve_slice",
    "select_arrivals",
    "select_call_tree",
    "select_calls",
    "select_census",
    "select_code",
    "select_estimated",
    "select_export",
    "select_func",
    "select_functions",
    "select_groups",
    "select_measured",
    "select_newest_trace",
    "select_overview",
    "select_pages",
    "select_project_days",
    "select_project_summaries",
    "select_raw_body",
    "select_receipts",
    "select_releases",
    "select_set_aside",
    "select_slice_export",
    "select_status",
    "select_trace",
    "select_trace_page",
    "select_traces",
    "select_tree_columns",
    "select_views",
    "sum_trend",
]
