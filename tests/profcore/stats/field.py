"""Generated views that resemble real traffic: skewed times, many zeros, device classes of different speed."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import numpy.typing as npt

from profcore.stats.views import ViewColumns, ViewSample, sample_of
from profcore.sums.blobs import Contribution

Matrix = npt.NDArray[np.float64]


def sample_of_ms(
    ms: Matrix | Sequence[Sequence[float]],
    *,
    device_class: Sequence[int] | None = None,
    navigation: Sequence[int] | None = None,
    page: Sequence[int] | None = None,
    sample_rate: Sequence[float] | None = None,
    js_ms: Sequence[float] | None = None,
) -> ViewSample:
    """Returns a sample from a matrix of self ms, views × funcs; without `js_ms` there is no other time."""
    self_us = np.rint(np.asarray(ms, dtype=np.float64) * 1000).astype(np.int64)
    whole = self_us.sum(1) if js_ms is None else np.rint(np.asarray(js_ms) * 1000).astype(np.int64)
    classes = [0] * len(self_us) if device_class is None else list(device_class)
    columns = ViewColumns.of(whole.tolist(), [0] * len(self_us), classes, sample_rate, start=navigation, page=page)
    return sample_of([contribution_of_row(row) for row in self_us], columns)


def make_contribution(*columns: list[int]) -> Contribution:
    """Returns a contribution from its first six columns; a column of hidden totals, if there is one, equals hidden."""
    missing = len(fields(Contribution)) - len(columns)
    return Contribution(*columns, *(list(columns[3]) for _ in range(missing)))


def contribution_of_row(self_us: npt.NDArray[np.int64]) -> Contribution:
    """Returns the contribution of one view; funcs are numbered by column."""
    func = np.flatnonzero(self_us)
    times = self_us[func].tolist()
    zeros = [0] * len(times)
    return make_contribution(func.tolist(), times, times, list(zeros), list(zeros), list(zeros))


def skewed_ms(
    rng: np.random.Generator, shape: tuple[int, int], *, sigma: float = 1.0, zeros: float = 0.5, mean_ms: float = 10.0
) -> Matrix:
    """Returns lognormal times with the mean `mean_ms`, mixed with zeros (so the mean of all is lower)."""
    drawn = rng.lognormal(np.log(mean_ms) - sigma**2 / 2, sigma, shape)
    return np.where(rng.random(shape) < zeros, 0.0, drawn)
