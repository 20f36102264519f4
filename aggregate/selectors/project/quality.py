"""The quality of a slice's data: arrivals and their states, and how views were measured in which browsers.

The counts of the endpoint are those of the whole project, by hour of arrival. Cells say exactly how views were
measured. Only views know what the profiler took of each, and only receipts intervals, isolation, sample rates and why
recording ended: these come from a uniform sample.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import median
from typing import Any, Final
from uuid import UUID

from django.db import connection

from aggregate.selectors.page_views.samples import select_sampled
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_arrived, where_slice
from aggregate.sql import select_records
from ingest.models import PENDING, REJECTED
from ingest.storage.groups import OTHER
from profcore.formats.importers.completing import UNNAMED
from profcore.trace.dimensions import BROWSERS, DEVICE_CLASSES, END_REASONS, NAVIGATIONS, SDKS
from profcore.trace.weights import TIME_PART_NAMES, TimeParts

# The receipts of this number of views are read: shares are then within about 2 %, and the look-ups take about 50 ms.
SAMPLED_VIEWS: Final = 2_000
# Reasons are counted for this number of the last rejected traces: the index leads to rows that are read one by one.
REJECTED_READ: Final = 10_000
# A reported interval is wrong if the measured one is this many times as long: 10 ms that are 16 or 20.
WRONG_FROM: Final = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeDay:
    """The traces that arrived on one UTC day, by state; `rejected` are the rejected ones, as the read API calls them.

    A post that was refused before it was read counts once in `refused`.
    """

    day: date
    folded: int
    pending: int
    rejected: int
    refused: int


@dataclass(frozen=True, slots=True)
class Rejections:
    """Rejected traces by reason: those among the last `read` rejected ones in the slice's time."""

    by_reason: Mapping[str, int]

    @property
    def read(self) -> int:
        return sum(self.by_reason.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    """Page views of a slice that count as "(other)": under no release and page of their own, or under no page."""

    views: int
    without_release: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """Exact sums of the views of one browser family and device class, one navigation, or one SDK; others are None."""

    browser: str | None
    device: str | None
    navigation: str | None
    sdk: str | None
    views: int
    unnamed_views: int  # of a page that no one named
    truncated_views: int
    traces: int
    time: TimeParts

    @property
    def samples_per_view(self) -> float | None:
        return self.time.samples / self.views if self.views else None

    def share(self, part: str) -> float | None:
        """Returns the share of a part in the recorded time, 0 to 1; None if nothing was recorded."""
        us: int = getattr(self.time, f"{part}_us")
        return us / self.time.span_us if self.time.span_us else None


@dataclass(frozen=True, slots=True)
class Measured:
    """The sums of a slice: whole, by browser family and device class, by navigation, and by SDK."""

    whole: MeasuredRow
    by_browser: Sequence[MeasuredRow]
    by_navigation: Sequence[MeasuredRow]
    by_sdk: Sequence[MeasuredRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRow:
    """Sampled traces with the same requested and effective interval, and their measured intervals, µs.

    `requested_us` is None if the client did not say it. `measured_us` is the median over traces of each one's median
    gap, `high_us` the 95th percentile; both are None if the traces are too short. In `wrong` traces the measured
    interval is `WRONG_FROM` times the effective one or more. In `disagreeing` ones the samples disagree with it so much
    that the fold used the one that they show.
    """

    browser: str
    device: str
    requested_us: int | None
    effective_us: int
    traces: int
    measured: int
    measured_us: float | None
    high_us: int | None
    wrong: int
    disagreeing: int

    @property
    def wrong_share(self) -> float | None:
        return self.wrong / self.measured if self.measured else None

    @property
    def disagreeing_share(self) -> float | None:
        return self.disagreeing / self.traces if self.traces else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetCost:
    """The main-thread time of the snippet itself per view, µs, as senders sent it: over the `views` that have it."""

    views: int
    median_us: float
    high_us: int  # the 95th percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCost:
    """The profiler's own time per view, as it was folded, of sampled views of one device class, or of all (None).

    `share` is its part of their script, hidden and profiler time; None if they have none.
    """

    device: str | None
    views: int
    median_us: float
    high_us: int  # the 95th percentile
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledReceipts:
    """Facts from receipts of a uniform sample: `views` views out of `population`. Counts are of traces.

    `isolated` counts by True, False and None (not known).
    """

    views: int
    population: int
    traces: int
    intervals: Sequence[IntervalRow]
    sdk_intervals: Mapping[str, float]  # median over traces of their measured ones, µs
    isolated: Mapping[bool | None, int]
    sample_rates: Mapping[float, int]
    end_reasons: Mapping[str, int]
    body_bytes: float | None  # median, expanded
    own_costs: Sequence[OwnCost]  # of all views, then by device class, the most views first
    snippet: SnippetCost | None  # by the snippet's clock
    snippet_sampled: SnippetCost | None  # by the samples in its own code

    @property
    def disagreeing(self) -> int:
        """The traces whose samples disagree with the reported interval."""
        return sum(row.disagreeing for row in self.intervals)


def select_intake_days(slice_: Slice, *, limit: int) -> list[IntakeDay]:
    """Returns the last days with arrivals in the slice's time, for the whole project, oldest first. One statement."""
    hours, params = where_arrived(slice_, "k", "hour_at")
    receipts, _ = where_arrived(slice_, "r", "received_at")
    days = select_records(
        IntakeDay,
        f"""SELECT (day AT TIME ZONE 'UTC')::date AS day, sum(folded)::bigint AS folded,
                       sum(pending)::bigint AS pending, sum(rejected)::bigint AS rejected,
                       sum(refused)::bigint AS refused
                FROM (SELECT date_trunc('day', k.hour_at, 'UTC') AS day, k.folded, 0 AS pending, k.rejected,
                             0 AS refused
                      FROM ingest_receiptcount k WHERE {hours}
                      UNION ALL SELECT date_trunc('day', k.hour_at, 'UTC'), 0, 0, 0, k.count
                      FROM ingest_refusal k WHERE {hours}
                      UNION ALL SELECT date_trunc('day', r.received_at, 'UTC'), 0, count(*), 0, 0
                      FROM ingest_tracereceipt r WHERE {receipts} AND r.state = {PENDING} GROUP BY 1) AS arrived
                GROUP BY 1 ORDER BY 1 DESC LIMIT %(limit)s""",
        {**params, "limit": limit},
    )
    return days[::-1]


def select_rejections(slice_: Slice) -> Rejections:
    """Returns the reasons of the last `REJECTED_READ` rejected traces of the slice's time. One statement."""
    where, params = where_arrived(slice_, "r", "received_at")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT reason, count(*) FROM (SELECT COALESCE(r.reason, '') AS reason FROM ingest_tracereceipt r
                    WHERE {where} AND r.state = {REJECTED} ORDER BY r.received_at DESC LIMIT {REJECTED_READ}) AS last
                GROUP BY 1 ORDER BY 2 DESC, 1""",
            params,
        )
        return Rejections(dict(cursor.fetchall()))


def select_overflow(slice_: Slice) -> Overflow:
    """Returns the page views of a slice beyond the bounds on releases and pages. One statement."""
    where, params = where_slice(slice_)
    (row,) = select_records(
        Overflow,
        f"""SELECT COALESCE(sum(c.views), 0)::bigint AS views,
                   COALESCE(sum(c.views) FILTER (WHERE g.release = %(other)s), 0)::bigint AS without_release
            {FROM_CELLS} WHERE {where} AND %(other)s IN (g.release, g.page)""",
        {**params, "other": OTHER},
    )
    return row


def select_funcs_beyond(slice_: Slice) -> int:
    """Returns how often a new function was beyond the project's room, on days of the slice's time. One statement."""
    where, params = where_arrived(slice_, "d", "day_at")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT COALESCE(sum(beyond), 0)::bigint
                FROM (SELECT project_id, beyond, day_on::timestamp AT TIME ZONE 'UTC' AS day_at
                      FROM aggregate_funcday) AS d
                WHERE {where}""",
            params,
        )
        ((beyond,),) = cursor.fetchall()
    return int(beyond)


def select_measured(slice_: Slice) -> Measured:
    """Returns the sums of a slice, and those of its parts, the most views first. One statement."""
    where, params = where_slice(slice_)
    sums = ("views", "truncated_views", "traces", *TIME_PART_NAMES)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT c.browser, c.device_class, c.navigation, c.sdk,
                       COALESCE(sum(c.views) FILTER (WHERE g.page = %(unnamed)s), 0)::bigint,
                       {", ".join(f"COALESCE(sum(c.{name}), 0)::bigint" for name in sums)}
                {FROM_CELLS} WHERE {where}
                GROUP BY GROUPING SETS ((), (c.browser, c.device_class), (c.navigation), (c.sdk))
                ORDER BY GROUPING(c.browser) + GROUPING(c.navigation) + GROUPING(c.sdk) DESC, 6 DESC, 1, 2, 3, 4""",
            {**params, "unnamed": UNNAMED},
        )
        whole, *rows = [_read_measured(row) for row in cursor]
    with_views = [row for row in rows if row.views]
    return Measured(
        whole,
        [row for row in with_views if row.browser is not None],
        [row for row in with_views if row.navigation is not None],
        [row for row in with_views if row.sdk is not None],
    )


def _read_measured(row: Sequence[Any]) -> MeasuredRow:  # Any: a row as the driver types it
    browser, device, navigation, sdk, unnamed_views, views, truncated_views, traces, *parts = row
    return MeasuredRow(
        browser=None if browser is None else BROWSERS[browser],
        device=None if device is None else DEVICE_CLASSES[device],
        navigation=None if navigation is None else NAVIGATIONS[navigation],
        sdk=None if sdk is None else SDKS[sdk],
        views=views,
        unnamed_views=unnamed_views,
        truncated_views=truncated_views,
        traces=traces,
        time=TimeParts(*parts),
    )


def select_receipts(slice_: Slice, population: int) -> SampledReceipts:
    """Returns facts from the receipts of a uniform sample of a slice's views. `population` counts the slice's views.

    Two statements, or a few more if rows of views have expired.
    """
    columns = "v.view_id, v.group_id, c.device_class, v.profiler_us, v.js_us + v.hidden_us"
    _, sampled = select_sampled(slice_, columns, most=SAMPLED_VIEWS, population=population)
    rows = _read_receipts(slice_.project_id, sampled)
    rates = Counter(row[6] for row in rows)
    return SampledReceipts(
        views=len(sampled),
        population=population,
        traces=len(rows),
        intervals=_sum_intervals(rows),
        sdk_intervals=_find_sdk_intervals(rows),
        isolated=Counter(row[5] for row in rows),
        sample_rates={rate: rates[rate] for rate in sorted(rates)},
        end_reasons=dict(Counter(END_REASONS[row[7]] for row in rows).most_common()),
        body_bytes=median(row[8] for row in rows) if rows else None,
        own_costs=_sum_own_costs(sampled),
        snippet=_sum_snippet(rows, -4),
        snippet_sampled=_sum_snippet(rows, -3),
    )


def _read_receipts(project_id: int, sampled: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:  # Any: as above
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT r.browser, r.device_class, r.requested_interval_us, r.interval_us, r.measured_interval_us,
                      r.isolated, COALESCE(r.sample_rate, 1.0), r.end_reason, r.body_bytes,
                      r.used_interval_us, r.sdk, r.snippet_us, r.snippet_sampled_us, r.view_id, r.group_id
               FROM unnest(%s::uuid[], %s::int[]) AS v (view_id, group_id)
               JOIN ingest_tracereceipt r ON r.project_id = %s AND r.view_id = v.view_id AND r.group_id = v.group_id""",
            [[row[0] for row in sampled], [row[1] for row in sampled], project_id],
        )
        return list(cursor)


def _sum_own_costs(sampled: Sequence[tuple[Any, ...]]) -> list[OwnCost]:  # Any: as above
    """Returns what the profiler took per view: of all views, then of those of each device class."""
    by_device: dict[int | None, list[tuple[int, int]]] = {None: []}
    for _, _, device, profiler_us, work_us, *_ in sampled:
        by_device[None].append((profiler_us, work_us))
        by_device.setdefault(device, []).append((profiler_us, work_us))
    costs = []
    for code, views in by_device.items():
        ordered = sorted(profiler_us for profiler_us, _ in views)
        whole_us = sum(map(sum, views))
        if views:
            costs.append(
                OwnCost(
                    device=None if code is None else DEVICE_CLASSES[code],
                    views=len(views),
                    median_us=median(ordered),
                    high_us=_p95(ordered),
                    share=sum(ordered) / whole_us if whole_us else None,
                )
            )
    return sorted(costs, key=lambda cost: (cost.device is not None, -cost.views, cost.device or ""))


def _sum_snippet(rows: Sequence[tuple[Any, ...]], column: int) -> SnippetCost | None:  # Any: as above
    """Returns what the snippet took per view, summed over each view's traces; None if no sender sent it."""
    costs: dict[tuple[UUID, int], int] = {}
    for row in rows:
        if row[column] is not None:
            costs[row[-2:]] = costs.get(row[-2:], 0) + row[column]
    ordered = sorted(costs.values())
    if not ordered:
        return None
    return SnippetCost(views=len(ordered), median_us=median(ordered), high_us=_p95(ordered))


def _p95(ordered: Sequence[int]) -> int:
    return ordered[(len(ordered) * 95 - 1) // 100]


def _find_sdk_intervals(rows: Sequence[tuple[Any, ...]]) -> dict[str, float]:  # Any: as above
    measured: dict[int, list[int]] = {}
    for row in rows:
        if row[4] is not None:
            measured.setdefault(row[10], []).append(row[4])
    return {SDKS[code]: median(measured[code]) for code in sorted(measured)}


def _sum_intervals(rows: Sequence[tuple[Any, ...]]) -> list[IntervalRow]:  # Any: as above
    """Returns receipts by browser, device, requested and effective interval, the most traces first."""
    gaps: dict[tuple[int, int, int | None, int], list[int | None]] = {}
    disagreeing: Counter[tuple[int, int, int | None, int]] = Counter()
    for row in rows:
        browser, device, requested_us, effective_us, measured_us, *_ = row
        used_us = row[9]
        key = (browser, device, requested_us, effective_us)
        gaps.setdefault(key, []).append(measured_us)
        disagreeing[key] += used_us is not None
    intervals = []
    for key, all_gaps in gaps.items():
        browser, device, requested_us, effective_us = key
        known = sorted(gap for gap in all_gaps if gap is not None)
        intervals.append(
            IntervalRow(
                browser=BROWSERS[browser],
                device=DEVICE_CLASSES[device],
                requested_us=requested_us,
                effective_us=effective_us,
                traces=len(all_gaps),
                measured=len(known),
                measured_us=median(known) if known else None,
                high_us=_p95(known) if known else None,
                wrong=sum(gap >= WRONG_FROM * effective_us for gap in known),
                disagreeing=disagreeing[key],
            )
        )
    return sorted(intervals, key=lambda row: (-row.traces, row.browser, row.device, row.effective_us))
