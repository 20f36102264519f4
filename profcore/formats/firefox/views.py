"""Profiles of single views on their real clocks: each view is a separate process, with markers and CPU use.

A sample lasts until the next one, as in the viewer. Its weight is its time after the cap on gaps. At the end of a
trace, and of observed time, a sample without a stack closes the last box.
"""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from profcore.formats.firefox.markers import find_markers, write_markers
from profcore.formats.firefox.meta import build_meta
from profcore.formats.firefox.rows import FuncTableRows, ProfileTables
from profcore.formats.firefox.schemas import SCHEMAS
from profcore.formats.firefox.sections import EPOCH, timeline_sections
from profcore.formats.firefox.shapes import ClockedSamples, Markers, Profile, SampleUnits, Thread
from profcore.formats.firefox.tables import safe_text
from profcore.formats.slice import TimelineExport
from profcore.formats.timeline import NO_STACK, ViewTimeline
from profcore.sums.calltree import mark_paths
from profcore.trace.weights import ENGINE_MARKERS, KIND_ENGINE, KIND_HIDDEN, KIND_IDLE, KIND_PROFILER, MARKERS

# A mark may lie anywhere within 30 days; one that is later than this after the last sample does not extend the axis.
MARK_TAIL_US: Final = 10_000_000
# A view whose first sample is later than this is shown from there on: the time before is empty and may be hours.
LEAD_US: Final = 10_000_000
MAX_VISIBLE: Final = 15
ID_CHARS: Final = 8  # of a view's id, which is enough to distinguish a few views


def build_views(export: TimelineExport) -> Profile:
    """Returns the profile of some views, which all start at the same place of the axis. Raises `ValueError` for []."""
    if not export.views:
        raise ValueError("a timeline needs at least one view")
    rows = FuncTableRows()
    row_of = rows.add(export.funcs)
    tables = ProfileTables(rows, export.contents)
    origin_us = min(min(0, _first_us(view)) for view in export.views)
    threads: list[Thread] = []
    for number, view in enumerate(export.views):
        pid = "0" if len(export.views) == 1 else f"view {number + 1}"
        stack_of = _Stacks(view, rows, row_of, tables, has_leaves=export.engine_leaves)
        markers = write_markers(find_markers(view, export.funcs), tables, origin_us)
        threads += _view_threads(view, stack_of, markers, origin_us, pid=pid, first_tid=len(threads) + 1)
    first = export.views[0]
    lead_us = min(_first_us(view) for view in export.views) - origin_us
    meta = build_meta(
        title=_title_of(export),
        query=export.query,
        link=export.link,
        interval_ms=first.interval_us / 1000,
        started_at_ms=int(first.started_at_ms + origin_us / 1000),
        end_ms=max(_end_us(view) - origin_us + view.interval_us for view in export.views) / 1000,
        axis_from_ms=lead_us / 1000 if lead_us > LEAD_US else 0.0,
        releases=list(dict.fromkeys(view.release for view in export.views)),
        sections=timeline_sections(export),
        visible=list(range(min(len(threads), MAX_VISIBLE))),
        schemas=SCHEMAS,
        units=SampleUnits(),
    )
    return Profile(meta, [], tables.write(), threads)


def _title_of(export: TimelineExport) -> str:
    """Returns the title: the project, and of an only view its page, its start and its short id."""
    if len(export.views) > 1:
        return export.project
    return f"{export.project} {_name_view(export.views[0], '%Y-%m-%d %H:%M UTC')}"


def _name_view(view: ViewTimeline, time_format: str) -> str:
    started = EPOCH + timedelta(milliseconds=int(view.started_at_ms))
    return f"{view.page} {started.strftime(time_format)} {view.view_id[:ID_CHARS]}"


def _first_us(view: ViewTimeline) -> int:
    return min([trace.start_us for trace in view.traces])


def _end_us(view: ViewTimeline) -> int:
    last_us = max([trace.end_us for trace in view.traces])
    return max([last_us, *(min(mark.end_us, last_us + MARK_TAIL_US) for mark in view.marks)])


def _view_threads(
    view: ViewTimeline, stack_of: "_Stacks", markers: Markers, origin_us: int, *, pid: str, first_tid: int
) -> list[Thread]:
    """Returns a view's threads: one, plus one for each further profiler that ran at the same time."""
    end_ms = (_end_us(view) - origin_us) / 1000
    name = view.page if pid == "0" else _name_view(view, "%m-%d %H:%M")  # the track is narrow
    threads = []
    for lane in range(view.lanes):
        threads.append(
            Thread(
                name=safe_text(name) + (f" (recorded at the same time, {lane + 1})" if lane else ""),
                processName=safe_text(view.page),
                samples=_write_lane(view, lane, stack_of, origin_us),
                isMainThread=lane == 0,
                pid=pid,
                tid=first_tid + lane,
                processShutdownTime=end_ms,
                unregisterTime=end_ms,
                markers=markers if lane == 0 else Markers(),
            )
        )
    return threads


class _Stacks:
    """The stack of each sample of a view in the profile's tables, with its pseudo frames."""

    def __init__(
        self, view: ViewTimeline, rows: FuncTableRows, row_of: Sequence[int], tables: ProfileTables, *, has_leaves: bool
    ) -> None:
        self._samples = view.samples
        self._rows = rows
        self._tables = tables
        self._has_leaves = has_leaves
        self._place = self._add_stacks(view, row_of)

    def _add_stacks(self, view: ViewTimeline, row_of: Sequence[int]) -> list[int]:
        """Adds the stacks and returns the row of each."""
        used = mark_paths(view.prefix, (*view.samples.stack, *view.samples.hidden_stack))
        place = [NO_STACK] * (len(used) + 1)  # the last is for the prefix of roots, -1
        for stack, is_used in enumerate(used):
            if is_used:
                place[stack] = self._tables.stack(place[view.prefix[stack]], row_of[view.func[stack]])
        return place

    def of(self, row: int) -> int | None:
        """Returns the row of stackTable that a sample shows; None for an idle one."""
        samples, kind = self._samples, self._samples.kind[row]
        if kind == KIND_IDLE:
            return None
        if kind == KIND_PROFILER:
            return self._tables.stack(-1, self._rows.profiler)
        if kind == KIND_ENGINE:
            stack = self._tables.stack(-1, self._rows.engine)
        elif kind == KIND_HIDDEN:
            stack = self._tables.stack(self._place[samples.hidden_stack[row]], self._rows.hidden)
        else:
            stack = self._place[samples.stack[row]]
        word = MARKERS[samples.marker[row]] if samples.marker[row] >= 0 else ""
        if self._has_leaves and word in ENGINE_MARKERS:
            stack = self._tables.stack(stack, self._rows.leaves[word])
        return stack


def _write_lane(view: ViewTimeline, lane: int, stack_of: _Stacks, origin_us: int) -> ClockedSamples:
    samples = view.samples
    rows = [row for row, trace in enumerate(samples.trace) if view.traces[trace].lane == lane]
    times: list[int] = []
    stacks: list[int | None] = []
    weights: list[float] = []
    busy: list[int] = []
    tasks = _Busy(view.long_tasks)
    was_busy = False

    def add(time_us: int, stack: int | None, weight_us: int) -> None:
        since = 0 if not times else time_us - times[-1] if was_busy else tasks.between(times[-1], time_us)
        busy.append(since)
        times.append(time_us)
        stacks.append(stack)
        weights.append(weight_us / 1000)

    for place, row in enumerate(rows):
        add(samples.time_us[row], stack_of.of(row), samples.weight_us[row])
        was_busy = samples.kind[row] != KIND_IDLE
        counted_until = samples.time_us[row] + samples.weight_us[row]
        if place + 1 == len(rows) or counted_until < samples.time_us[rows[place + 1]]:
            add(counted_until, None, 0)
            was_busy = False
    deltas = [(time - before) / 1000 for before, time in zip([origin_us, *times], times, strict=False)]
    return ClockedSamples(
        length=len(times),
        stack=stacks,
        timeDeltas=deltas,
        weight=weights,
        weightType="tracing-ms",
        threadCPUDelta=busy,
    )


class _Busy:
    """The part of any stretch of time that lies in long tasks."""

    def __init__(self, tasks: Sequence[tuple[int, int]]) -> None:
        self._starts = [start for start, _ in tasks]
        self._ends = [end for _, end in tasks]
        self._before = [0]
        for start, end in tasks:
            self._before.append(self._before[-1] + end - start)

    def _until(self, time_us: int) -> int:
        count = bisect_right(self._starts, time_us)
        late = max(0, self._ends[count - 1] - time_us) if count else 0
        return self._before[count] - late

    def between(self, start_us: int, end_us: int) -> int:
        """Returns the µs of long tasks in `[start, end)`."""
        return self._until(end_us) - self._until(start_us)
