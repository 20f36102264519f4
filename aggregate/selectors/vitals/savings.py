"""What would it save? For each function, package or party of a slice: bounds of the time that views take without it.

At least its own time goes, if what it called is called by others then. At most goes the time with all that it called.
Neither is a promise: other code may take its place, and without it a page may do something else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aggregate.selectors.functions.table import FunctionRow, FunctionTable
from aggregate.selectors.vitals.table import VitalsTable, WindowRow, WindowTable
from profcore.stats.estimates import Figure
from profcore.stats.summaries import FuncSummary

US_PER_MS: Final = 1_000
# The windows whose vital a page is judged by.
JUDGED: Final = ("lcp", "interaction")


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSaving:
    """The own time of a row in one window: the vital would come sooner by at most this time.

    `share` is that of the window. `ms` is per view that has the window.
    """

    window: str
    ms: float
    share: float
    summary: FuncSummary | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What one row would save per view, ms.

    `own_ms` is its self and hidden time, `most_ms` the time with all that it called; None if sample rates differ and
    nothing is known of all users. `summary` has the interval of `own_ms` and the share of views that ran it.
    `forced_ms` is the part of its own time that was forced style and layout, in the views whose traces were read; None
    if it is not known.
    """

    row: FunctionRow
    own_ms: float | None
    most_ms: float | None
    summary: FuncSummary | None
    windows: Mapping[str, WindowSaving]
    forced_ms: float | None = None

    @property
    def own(self) -> Figure | None:
        """Its own time per view with its interval."""
        return self.summary.ms_per_view if self.summary else None

    @property
    def sure_ms(self) -> float:
        """The lower end of the interval of its own time: the views show that at least this much is saved."""
        estimate = self.own
        return estimate.ci95.low if estimate is not None and estimate.ci95 is not None else 0.0

    @property
    def lcp(self) -> WindowSaving | None:
        """Its time until the largest paint."""
        return self.windows.get("lcp")

    @property
    def interaction(self) -> WindowSaving | None:
        """Its time in the longest interaction."""
        return self.windows.get("interaction")


def rank_savings(table: FunctionTable, vitals: VitalsTable | None, *, limit: int) -> list[Saving]:
    """Returns the rows of a table by what fixing them saves, the surest and largest first.

    The order is that of `sure_ms`. A mean over all views is what a row costs where it runs times the share of views
    that run it, and the lower end of its interval takes off what is not certain. Rows without an interval come last,
    by their mean. The table must have estimates by self and hidden time.
    """
    windows = (
        {}
        if vitals is None
        else {window_table.window: window_table for window_table in vitals.windows if window_table.window in JUDGED}
    )
    forced = {} if vitals is None else {forced.row.id: forced.row.self_us for forced in vitals.forced_layout.rows}
    rows_of = {name: {row.row.id: row for row in window.rows} for name, window in windows.items()}
    savings = [
        Saving(
            row=row,
            own_ms=table.cost_ms_per_view(row),
            most_ms=_most_ms(table, row),
            summary=table.estimates.get(row.id),
            windows={
                name: save_in_window(window, rows_of[name][row.id])
                for name, window in windows.items()
                if row.id in rows_of[name]
            },
            forced_ms=None if vitals is None else vitals.forced_layout.per_view_ms(forced.get(row.id, 0)),
        )
        for row in table.functions
        if row.cost_us
    ]
    return sorted(savings, key=lambda saving: (-saving.sure_ms, -(saving.own_ms or 0.0), str(saving.row.id)))[:limit]


def save_in_window(window: WindowTable, row: WindowRow) -> WindowSaving:
    """Returns what a row takes in a window."""
    return WindowSaving(
        window=window.window,
        ms=row.row.cost_us / US_PER_MS / window.views,
        share=row.row.cost_us / window.length_us if window.length_us else 0.0,
        summary=row.summary,
    )


def find_in_windows(vitals: VitalsTable, row_id: int | str) -> Sequence[WindowSaving]:
    """Returns what one row takes in the windows that vitals are judged by."""
    return [
        save_in_window(window, row)
        for window in vitals.windows
        if window.window in JUDGED
        for row in window.rows
        if row.row.id == row_id
    ]


def _most_ms(table: FunctionTable, row: FunctionRow) -> float | None:
    """Returns the time per view with all that a row called. It is never less than its own."""
    if table.summary is not None and table.summary.is_weighted:
        return None
    return max(row.total_us + row.hidden_total_us, row.cost_us) / US_PER_MS / table.views
