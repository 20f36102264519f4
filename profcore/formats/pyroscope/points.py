"""Sums of buckets as the points of a series: any step, whose points add up to the sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Grid:
    """The steps of a series, multiples of `step_ms` since the epoch: a point at `t` stands for (t - step, t].

    The first step has `start_ms`, the last one ends at `end_ms` or later.
    """

    start_ms: int
    end_ms: int
    step_ms: int

    @property
    def base_ms(self) -> int:
        """The start of the first step."""
        return self.start_ms // self.step_ms * self.step_ms

    @property
    def count(self) -> int:
        """The number of steps."""
        return -((self.base_ms - self.end_ms) // self.step_ms)


@dataclass(frozen=True, slots=True)
class Bucket:
    """The µs of one bucket, which may be anywhere in it."""

    starts_ms: int
    ends_ms: int
    us: int


def spread(buckets: Sequence[Bucket], grid: Grid) -> list[tuple[int, float]]:
    """Returns the points of a series as (ms since the epoch, µs), in order, without those of no bucket.

    The time of a bucket is spread evenly over it. So a step that is shorter than a bucket has its share, and steps that
    contain whole buckets have their exact sums.
    """
    edges = grid.base_ms + grid.step_ms * np.arange(grid.count + 1, dtype=np.float64)
    us, is_met = np.zeros(grid.count), np.zeros(grid.count, dtype=bool)
    for same in _by_length(buckets).values():  # buckets of one length do not overlap; an hour of a merged day may
        known = np.array(sorted((bucket.starts_ms, bucket.ends_ms, bucket.us) for bucket in same), dtype=np.float64)
        times = known[:, :2].ravel()
        done = np.cumsum(np.stack([np.zeros(len(known)), known[:, 2]], axis=1).ravel())
        us += np.diff(np.interp(edges, times, done, left=0.0))
        first = np.searchsorted(
            known[:, 1], edges[:-1], side="right"
        )  # the first bucket that ends behind the step's start
        is_met |= np.append(known[:, 0], np.inf)[first] < edges[1:]
    return [(int(edges[step + 1]), float(us[step])) for step in np.flatnonzero(is_met)]


def _by_length(buckets: Sequence[Bucket]) -> Mapping[int, list[Bucket]]:
    lengths: dict[int, list[Bucket]] = {}
    for bucket in buckets:
        lengths.setdefault(bucket.ends_ms - bucket.starts_ms, []).append(bucket)
    return lengths
