"""The answer of `vitals` as JSON."""

from typing import Final

from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.vitals.table import VitalsTable, WindowRow, WindowTable
from dashboard.api.core.encoding import encode_place, encode_slice
from dashboard.api.core.statistics import encode_estimates, encode_statistics
from dashboard.web.schemas import Json
from profcore.vitals.window_sums import WINDOW_PARTS

WAITS: Final = ("all", "slow")
DEFAULT_ROWS: Final = 20
MAX_ROWS: Final = 1_000  # of each of six windows: about 4 MB


def encode_vitals(slice_: Slice, table: VitalsTable, *, group_by: str) -> Json:
    return {
        "slice": encode_slice(slice_),
        "views": table.population,
        "read_views": table.read,
        "expired_views": table.gone,
        "too_large_views": table.too_large,
        "windows": [_encode_window(window, has_totals=group_by == "function") for window in table.windows],
    }


def _encode_window(window: WindowTable, *, has_totals: bool) -> Json:
    return {
        "window": window.window,
        "views": window.views,
        "frames": window.frames if window.window == "long_frames" else None,
        "ms_per_view": window.ms_per_view,
        "statistics": encode_statistics(window.summary),
        "estimates": encode_estimates(window.length) if window.length else None,
        "parts": [
            {
                "part": part,
                "ms_per_view": us / 1000 / window.views,
                "share": window.part_share(at),
                "estimates": encode_estimates(found) if found else None,
            }
            for at, (part, us, found) in enumerate(zip(WINDOW_PARTS, window.parts_us, window.parts, strict=True))
        ],
        "function_count": window.row_count,
        "functions": [_encode_row(window, each, has_totals=has_totals) for each in window.rows],
    }


def _encode_row(window: WindowTable, each: WindowRow, *, has_totals: bool) -> Json:
    row = each.row
    return {
        **encode_place(row),
        "category": row.category,
        "self_ms": row.self_us / 1000,
        "hidden_ms": row.hidden_us / 1000,
        "total_ms": row.total_us / 1000 if has_totals else None,
        "ms_per_view": row.cost_us / 1000 / window.views,
        "share": row.cost_us / window.length_us if window.length_us else 0.0,
        "estimates": encode_estimates(each.found) if each.found else None,
    }
