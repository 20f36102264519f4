"""How good a slice's data is: what came and what became of it, and how it was measured in whose browsers.

What the door counts is of the whole project, by hour of arrival. How views were measured is read exactly from cells;
what only receipts know (intervals, isolation, sample rates, why recording ended) from those of a uniform sample.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import median
from typing import Any, Final
from uuid import UUID

from django.db import connection

from aggregate.selectors.samples import select_sampled_views
from aggregate.selectors.slices import FROM_CELLS, Slice, where_arrived, where_slice
from profcore.dimensions import BROWSERS, DEVICE_CLASSES, END_REASONS
from profcore.weights import TIME_PART_NAMES, TimeParts

# Of so many views receipts are read: shares are then within 2 % or so, and the look-ups take some 50 ms.
SAMPLED_VIEWS: Final = 2_000
# Reasons of traces set aside are counted among the last so many: the index leads to rows that are read one by one.
SET_ASIDE_READ: Final = 10_000
# Measured beyond so much of what the browser reports, an interval is wrong: 10 ms that are 16 or 20.
WRONG_FROM: Final = 1.25


@dataclass(frozen=True, slots=True)
class IntakeDay:
    """What arrived in one UTC day, in traces; of `refused` a post that was never read counts once."""

    day: date
    folded: int
    pending: int
    set_aside: int
    refused: int


@dataclass(frozen=True, slots=True)
class SetAside:
    """Accepted traces that could not be folded, by reason: of the last `read` of them in the slice's time."""

    by_reason: Mapping[str, int]

    @property
    def read(self) -> int:
        return sum(self.by_reason.values())


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """Exact sums of the views of one browser family and device class. Of all together both are None."""

    browser: str | None
    device: str | None
    views: int
    truncated_views: int
    traces: int
    time: TimeParts

    @property
    def samples_per_view(self) -> float | None:
        return self.time.samples / self.views if self.views else None

    def share(self, part: str) -> float | None:
        """Returns a part of the recorded time, 0 to 1; None where nothing was recorded."""
        us: int = getattr(self.time, f"{part}_us")
        return us / self.time.span_us if self.time.span_us else None


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """Sampled traces that asked for and were promised one interval: what was measured of them, µs.

    `requested_us` is None where the client did not say, `measured_us` (the median over traces of each one's median gap)
    and `high_us` (the 95th percentile) where too short traces bear none. `wrong` traces measured `WRONG_FROM` times the
    promise or more.
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

    @property
    def wrong_share(self) -> float | None:
        return self.wrong / self.measured if self.measured else None


@dataclass(frozen=True, slots=True)
class SampledReceipts:
    """What receipts say, of `views` views of `population`, a uniform sample. Counts are of traces.

    `isolated` counts by True, False and None (not told).
    """

    views: int
    population: int
    traces: int
    intervals: Sequence[IntervalRow]
    isolated: Mapping[bool | None, int]
    sample_rates: Mapping[float, int]
    end_reasons: Mapping[str, int]
    body_bytes: float | None  # median, expanded


def select_intake_days(slice_: Slice, *, limit: int) -> list[IntakeDay]:
    """Returns the last days on which something arrived in the slice's time, for the whole project, oldest first.

    One statement.
    """
    hours, params = where_arrived(slice_, "k", "hour_at")
    receipts, _ = where_arrived(slice_, "r", "received_at")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT (day AT TIME ZONE 'UTC')::date, sum(folded)::bigint, sum(pending)::bigint, sum(rejected)::bigint,
                       sum(refused)::bigint
                FROM (SELECT date_trunc('day', k.hour_at, 'UTC') AS day, k.folded, 0 AS pending, k.rejected,
                             0 AS refused
                      FROM ingest_receiptcount k WHERE {hours}
                      UNION ALL SELECT date_trunc('day', k.hour_at, 'UTC'), 0, 0, 0, k.count
                      FROM ingest_refusal k WHERE {hours}
                      UNION ALL SELECT date_trunc('day', r.received_at, 'UTC'), 0, count(*), 0, 0
                      FROM ingest_receipt r WHERE {receipts} AND r.state = 0 GROUP BY 1) AS arrived
                GROUP BY 1 ORDER BY 1 DESC LIMIT %(limit)s""",
            {**params, "limit": limit},
        )
        return [IntakeDay(*row) for row in cursor][::-1]


def select_set_aside(slice_: Slice) -> SetAside:
    """Returns why the last `SET_ASIDE_READ` traces that arrived in the slice's time were set aside. One statement."""
    where, params = where_arrived(slice_, "r", "received_at")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT reason, count(*) FROM (SELECT COALESCE(r.reason, '') AS reason FROM ingest_receipt r
                    WHERE {where} AND r.state = 2 ORDER BY r.received_at DESC LIMIT {SET_ASIDE_READ}) AS last
                GROUP BY 1 ORDER BY 2 DESC, 1""",
            params,
        )
        return SetAside(dict(cursor.fetchall()))


def select_measured(slice_: Slice) -> tuple[MeasuredRow, Sequence[MeasuredRow]]:
    """Returns the sums of a slice, and by browser and device class, those with the most views first. One statement."""
    where, params = where_slice(slice_)
    sums = ("views", "truncated_views", "traces", *TIME_PART_NAMES)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT c.browser, c.device_class, {", ".join(f"COALESCE(sum(c.{name}), 0)::bigint" for name in sums)}
                {FROM_CELLS} WHERE {where} GROUP BY GROUPING SETS ((), (c.browser, c.device_class))
                ORDER BY GROUPING(c.browser) DESC, 3 DESC, 1, 2""",
            params,
        )
        whole, *rows = [_read_measured(row) for row in cursor]
    return whole, [row for row in rows if row.views]


def _read_measured(row: Sequence[Any]) -> MeasuredRow:  # Any: a row as the driver types it
    browser, device, views, truncated_views, traces, *parts = row
    return MeasuredRow(
        None if browser is None else BROWSERS[browser],
        None if device is None else DEVICE_CLASSES[device],
        views,
        truncated_views,
        traces,
        TimeParts(*parts),
    )


def select_receipts(slice_: Slice, population: int) -> SampledReceipts:
    """Returns what the receipts of a uniform sample of a slice's views say. `population` counts the slice's views.

    Two statements, or some more where views' rows have expired.
    """
    sampled = select_sampled_views(slice_, most=SAMPLED_VIEWS, population=population)
    rows = _read_receipts(slice_.project_id, sampled)
    rates = Counter(row[6] for row in rows)
    return SampledReceipts(
        len(sampled),
        population,
        len(rows),
        _sum_intervals(rows),
        Counter(row[5] for row in rows),
        {rate: rates[rate] for rate in sorted(rates)},
        dict(Counter(END_REASONS[row[7]] for row in rows).most_common()),
        median(row[8] for row in rows) if rows else None,
    )


def _read_receipts(project_id: int, sampled: Sequence[tuple[UUID, int]]) -> list[tuple[Any, ...]]:  # Any: as above
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT r.browser, r.device_class, r.requested_interval_us, r.interval_us, r.measured_interval_us,
                      r.isolated, COALESCE(r.sample_rate, 1.0), r.end_reason, r.body_bytes
               FROM unnest(%s::uuid[], %s::int[]) AS v (view_id, group_id)
               JOIN ingest_receipt r ON r.project_id = %s AND r.view_id = v.view_id AND r.group_id = v.group_id""",
            [[view for view, _ in sampled], [group for _, group in sampled], project_id],
        )
        return list(cursor)


def _sum_intervals(rows: Sequence[tuple[Any, ...]]) -> list[IntervalRow]:  # Any: as above
    """Sums receipts up by browser, device, asked and promised interval; those of most traces first."""
    gaps: dict[tuple[int, int, int | None, int], list[int | None]] = {}
    for browser, device, requested_us, effective_us, measured_us, *_ in rows:
        gaps.setdefault((browser, device, requested_us, effective_us), []).append(measured_us)
    found = []
    for (browser, device, requested_us, effective_us), all_gaps in gaps.items():
        known = sorted(gap for gap in all_gaps if gap is not None)
        found.append(
            IntervalRow(
                BROWSERS[browser],
                DEVICE_CLASSES[device],
                requested_us,
                effective_us,
                len(all_gaps),
                len(known),
                median(known) if known else None,
                known[(len(known) * 95 - 1) // 100] if known else None,
                sum(gap >= WRONG_FROM * effective_us for gap in known),
            )
        )
    return sorted(found, key=lambda row: (-row.traces, row.browser, row.device, row.effective_us))
