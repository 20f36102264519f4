"""What pages, the read API and the command line ask of the folded cells: plain values, one statement a question.

Every question goes through a project. Sums are µs and samples, exact; names of units are in the fields.
"""

from aggregate.selectors.exports import fingerprint_slice, select_slice_export
from aggregate.selectors.functions import FUNCTION_SORTS, FunctionRow, FunctionTable, select_functions
from aggregate.selectors.labels import label_func
from aggregate.selectors.pages import PageRow, ReleaseRow, select_pages, select_releases
from aggregate.selectors.projects import ProjectSummary, Status, select_project_summaries, select_status
from aggregate.selectors.slices import Slice, SliceError, SliceQuery, resolve_slice

__all__ = [
    "FUNCTION_SORTS",
    "FunctionRow",
    "FunctionTable",
    "PageRow",
    "ProjectSummary",
    "ReleaseRow",
    "Slice",
    "SliceError",
    "SliceQuery",
    "Status",
    "fingerprint_slice",
    "label_func",
    "resolve_slice",
    "select_functions",
    "select_pages",
    "select_project_summaries",
    "select_releases",
    "select_slice_export",
    "select_status",
]
