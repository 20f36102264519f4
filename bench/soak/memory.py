"""The memory of each process over a time, and how fast it grows."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.soak.watching import Look

MOMENTS: Final = 5  # columns of the table
TOGETHER: Final = ("postgres", "valkey")  # parts whose processes come and go: their sum is a row
ALL: Final = ("all", 0)
# PostgreSQL's buffers fill up to `shared_buffers` and stay so: no growth of a process.
BUFFERS: Final = ("postgres, its buffers", 0)
GROWTH_MB: Final = 8.0  # what a process may grow by in the second half of a time, or this share of it
GROWTH_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """A process, or all of a store: MB (PSS) at some moments, and how many MB it grew by in an hour at that pace.

    The slope is that between the medians of the third and the last quarter of the time: by then what is remembered has
    been read once, and a heavy read, whose memory is given back, moves no median. It is None for a
    process that did not live that long. `at_mb` has None where the process did not live.
    """

    name: str
    processes: int
    at_mb: Sequence[float | None]
    peak_mb: float
    slope_mb_per_h: float | None
    is_flat: bool


def make_rows(looks: Sequence[Look]) -> list[MemoryRow]:
    """Returns a row for each process that was seen, and one for all together."""
    series: dict[tuple[str, int], list[tuple[float, float]]] = {}
    counts: dict[tuple[str, int], set[int]] = {}
    for look in looks:
        sums: dict[tuple[str, int], float] = {ALL: sum(share.pss_mb for share in look.shares)}
        for share in look.shares:
            if share.part == "gone":
                continue
            key = (share.part, 0 if share.part in TOGETHER else share.pid)
            own_mb = share.pss_mb
            if share.part == "postgres":
                sums[BUFFERS] = sums.get(BUFFERS, 0.0) + share.shared_mb
                own_mb -= share.shared_mb
            sums[key] = sums.get(key, 0.0) + own_mb
            counts.setdefault(key, set()).add(share.pid)
        for key, mb in sums.items():
            series.setdefault(key, []).append((look.at_s, mb))
    if not looks:
        return []
    times = [look.at_s for look in looks]
    return [_make_row(key, points, times, len(counts.get(key, ()))) for key, points in sorted(series.items())]


def _make_row(
    key: tuple[str, int], points: Sequence[tuple[float, float]], times: Sequence[float], processes: int
) -> MemoryRow:
    at = dict(points)
    moments = [times[round(place * (len(times) - 1) / (MOMENTS - 1))] for place in range(MOMENTS)]
    half = times[len(times) // 2]
    late = [point for point in points if point[0] >= half]
    slope = None
    is_flat = True
    if len(late) > 2 and len(late) == sum(time >= half for time in times):
        slope = find_slope(late)
        grown_mb = slope * (late[-1][0] - late[0][0])
        is_flat = key in (ALL, BUFFERS) or grown_mb <= max(GROWTH_MB, GROWTH_SHARE * late[0][1])
    return MemoryRow(
        name=key[0] if key[1] == 0 else f"{key[0]} {key[1]}",
        processes=processes,
        at_mb=[at.get(moment) for moment in moments],
        peak_mb=max(mb for _, mb in points),
        slope_mb_per_h=None if slope is None else slope * 3600,
        is_flat=is_flat,
    )


def find_slope(points: Sequence[tuple[float, float]]) -> float:
    """Returns MB per second, between the medians of both halves of (time, MB)."""
    early, late = points[: len(points) // 2], points[len(points) // 2 :]
    grown_mb = statistics.median(mb for _, mb in late) - statistics.median(mb for _, mb in early)
    return grown_mb / (statistics.median(at for at, _ in late) - statistics.median(at for at, _ in early))
