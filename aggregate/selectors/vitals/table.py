"""What ran in the windows of vitals: functions, packages or parties, over the views of a slice, with intervals.

Everything is computed from raw traces, so it goes back as far as these are kept. Sums are exact over the views that
were read: all of a slice, or a uniform sample of them. A sample of those gives the intervals.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from django.conf import settings

from aggregate.selectors.code.symbols import Pair, load_symbols
from aggregate.selectors.exports.slice_export import select_ids
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.page_views.contributions import SliceView
from aggregate.selectors.page_views.samples import ViewSampler, sum_sample
from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice, SliceError
from aggregate.selectors.vitals.forced_layout import ForcedSums, ForcedTable
from aggregate.selectors.vitals.hidden_scripts import HiddenRow, HiddenSums
from aggregate.selectors.vitals.rows import (
    NO_FUNC,
    NOTHING,
    FuncUs,
    RateSums,
    VitalsRows,
    describe_us,
    find_factors,
)
from aggregate.selectors.vitals.view_windows import WindowedView, WindowReader
from profcore.stats.summaries import FuncSummary, KnownSums, Summary, summarise
from profcore.trace.funcs import FuncTable
from profcore.trace.weights import TimeParts
from profcore.vitals.func_times import FuncTimes
from profcore.vitals.window_sums import WINDOW_PARTS, WindowSums
from profcore.vitals.windows import WINDOWS

LENGTH: Final = len(WINDOW_PARTS)  # behind the parts: the whole window


@dataclass(frozen=True, slots=True, kw_only=True)
class VitalsQuery:
    """A query for vitals. `group_by` is `function` or one of `GROUPINGS`; `limit` is the rows of each window."""

    group_by: str = "function"
    limit: int = 20
    only_slow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRow:
    """A function or group in a window: its exact sums, and its estimates by self and hidden time (None: too few)."""

    row: FunctionRow
    summary: FuncSummary | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTable:
    """One window over the views that have it.

    `length` and `parts` (in the order of `WINDOW_PARTS`) have estimates of µs per view and of shares of the window.
    `summary` says how many views they are from. `row_count` includes rows beyond the limit.
    """

    window: str
    views: int
    frames: int
    length_us: int
    parts_us: Sequence[int]
    summary: Summary
    length: FuncSummary | None
    parts: Sequence[FuncSummary | None]
    rows: Sequence[WindowRow]
    row_count: int

    @property
    def ms_per_view(self) -> float:
        """The mean length of the window, ms."""
        return self.length_us / 1000 / self.views

    def part_share(self, at: int) -> float:
        """Returns the share of a part, over all views that were read."""
        return self.parts_us[at] / self.length_us if self.length_us else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VitalsTable:
    """The windows that any view has, and the forced layout and hidden scripts of all views that were kept whole.

    Of `population` views, `read` were read; of `only_slow` of these only slow moments were kept. Of those that were
    looked at, `gone` had no raw traces any more, and `too_large` had more of them than are read of one view.
    """

    population: int
    read: int
    only_slow: int
    gone: int
    too_large: int
    windows: Sequence[WindowTable]
    forced_layout: ForcedTable
    hidden_scripts: Sequence[HiddenRow]

    def find(self, window: str) -> WindowTable | None:
        """Returns a window, None if no view has it."""
        return next((table for table in self.windows if table.window == window), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """The sums of one window over views: its parts, which add up to its length, and its funcs."""

    views: int
    frames: int
    parts_us: Sequence[int]
    funcs: Mapping[Pair, FuncUs]

    @property
    def length_us(self) -> int:
        """The length of the window."""
        return sum(self.parts_us)


@dataclass(slots=True, kw_only=True)
class _Window:
    """One window over views: sums, and samples of these views, of funcs and of parts with the length behind."""

    views: Counter[float] = field(default_factory=Counter)  # by the rate at which views with such a window are known
    frames: int = 0
    parts_us: RateSums = field(default_factory=RateSums)
    funcs_us: RateSums = field(default_factory=RateSums)
    funcs: ViewSampler = field(
        default_factory=lambda: ViewSampler(
            settings.TABLE_STATISTICS_MAX_VIEWS, most_funcs=settings.VITALS_SAMPLE_MAX_FUNCS
        )
    )
    whole: ViewSampler = field(default_factory=lambda: ViewSampler(settings.TABLE_STATISTICS_MAX_VIEWS))

    def add(self, view: SliceView, sums: WindowSums, frames: int) -> None:
        self.views[view.sample_rate] += 1
        self.frames += frames
        parts = FuncTimes.of_values((*sums.parts_us, sums.length_us))
        self.parts_us.add(view.sample_rate, parts)
        self.funcs_us.add(view.sample_rate, sums.funcs, view.release)
        time = TimeParts(js_us=sums.length_us)  # shares are those of the window
        self.funcs.add(view, time, sums.funcs)
        self.whole.add(view, time, parts)

    def sum(self) -> _Sums:
        """Returns the sums over all views."""
        factors = find_factors(self.views)
        parts = self.parts_us.sum(factors)
        return _Sums(
            views=self.views.total(),
            frames=self.frames,
            parts_us=[parts.get(("", part), NOTHING).self_us for part in range(len(WINDOW_PARTS))],
            funcs=self.funcs_us.sum(factors),
        )


def select_vitals(slice_: Slice, query: VitalsQuery, *, reading: Reading | None = None) -> VitalsTable:
    """Returns what ran in the windows of a slice's views. Raises `SliceError`.

    Without a reading, it is of a uniform sample of the views within `VITALS_MAX_VIEWS`, `…_TRACES` and `…_BYTES`, and
    ends after `VITALS_READ_S`. With one, it is of all views. Parts of views have no windows, so a slice may not name
    traces.
    """
    check_vitals(slice_)
    reader = WindowReader(slice_, only_slow=query.only_slow)
    if reading is not None:
        views = reader.read_all(reading)
    elif slice_.is_fine:
        views = reader.read_named()
    else:
        population = select_overview(reader.slice_, [], limit=1).whole.views
        views = reader.read_sample(population, most=settings.VITALS_MAX_VIEWS)
    sums, forced, hidden = _sum_views(views)
    windows, forced_layout = _make_tables(slice_, sums, forced, reader.funcs, query)
    return VitalsTable(
        population=reader.population,
        read=reader.read,
        gone=reader.gone,
        too_large=reader.too_large,
        only_slow=reader.only_slow_views,
        windows=windows,
        forced_layout=forced_layout,
        hidden_scripts=hidden.make_rows(query.limit),
    )


def check_vitals(slice_: Slice) -> None:
    """Raises `SliceError` if the slice names parts of views."""
    if slice_.traces or slice_.tags:
        field_ = "trace" if slice_.traces else "tag"
        raise SliceError(field_, f"Windows are of whole page views: {field_} chooses traces. Name views instead.")


def _sum_views(views: Iterable[WindowedView]) -> tuple[Mapping[str, _Window], ForcedSums, HiddenSums]:
    windows, forced, hidden = {window: _Window() for window in WINDOWS}, ForcedSums(), HiddenSums()
    for seen in views:
        view, read = seen.view, seen.read
        for window, sums in read.sums.items():
            rate = seen.rate_of(window)
            of_rate = view if rate == view.sample_rate else replace(view, sample_rate=rate)
            windows[window].add(of_rate, sums, read.windows.frames)
        if read.forced is not None:
            forced.add(view, read.forced)
        if read.hidden is not None:
            hidden.add(view, read.hidden)
    return {window: window_sums for window, window_sums in windows.items() if window_sums.views}, forced, hidden


def _make_tables(
    slice_: Slice, sums: Mapping[str, _Window], forced: ForcedSums, funcs: FuncTable, query: VitalsQuery
) -> tuple[list[WindowTable], ForcedTable]:
    is_function = query.group_by == "function"
    code = load_symbols(slice_.project_id, as_stored=slice_.as_stored or not is_function)
    id_of = [func_id or NO_FUNC for func_id in select_ids(slice_.project_id, funcs.keys)]
    whole = {window: window_sums.sum() for window, window_sums in sums.items()}
    pairs = {pair for window in whole.values() for pair in window.funcs}
    forced_us = forced.sum()
    rows = VitalsRows(code, pairs | forced_us.pairs(), funcs, id_of, query.group_by)
    windows = [_make_table((window, sums[window], whole[window]), rows, id_of, query) for window in sums]
    return windows, forced.make_table(forced_us, rows, id_of, query.limit)


def _make_table(
    named: tuple[str, _Window, _Sums], rows: VitalsRows, id_of: Sequence[int], query: VitalsQuery
) -> WindowTable:
    window, views, sums = named
    columns = rows.add_up(sums.funcs)
    costs = {row_id: us.self_us + us.hidden_us for row_id, us in columns.items()}
    first = sorted(costs, key=lambda row_id: (-costs[row_id], -columns[row_id].total_us, str(row_id)))
    row_ids = [row_id for row_id in first if costs[row_id]][: query.limit]
    numbers = {row_id: number for number, row_id in enumerate(row_ids)}
    sample = sum_sample(views.funcs.sample(id_of), rows.row_of, numbers)
    known = KnownSums({numbers[row_id]: costs[row_id] for row_id in row_ids}, sums.length_us)
    summaries = {summary.func_id: summary for summary in summarise(sample, "self+hidden", known=known).functions}
    whole = summarise(
        views.whole.sample(),
        "self",
        known=KnownSums(
            {at: us for at, us in enumerate((*sums.parts_us, sums.length_us)) if us},
            sums.length_us,
        ),
    )
    parts = {summary.func_id: summary for summary in whole.functions}
    return WindowTable(
        window=window,
        views=sums.views,
        frames=sums.frames if window == "long_frames" else 0,
        length_us=sums.length_us,
        parts_us=sums.parts_us,
        summary=whole,
        length=parts.get(LENGTH),
        parts=[parts.get(at) for at in range(len(WINDOW_PARTS))],
        rows=[
            WindowRow(row=describe_us(rows, row_id, columns[row_id]), summary=summaries.get(number))
            for row_id, number in numbers.items()
        ],
        row_count=sum(1 for us in costs.values() if us),
    )
