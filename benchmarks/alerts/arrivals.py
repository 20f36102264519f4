"""Recorded views that arrive again, release by release, with a mix of devices that changes by the day."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from benchmarks.statistics.population import SIGMA, Recorded
from profcore.stats.standardised import ClassSums
from profcore.stats.strata import KnownKinds, text_code
from profcore.stats.views import FloatColumn, IntColumn, ViewColumns, ViewSample, sample_of_times

HOURS: Final = 24
# How much the shares of device classes differ from day to day: by a tenth or so of each.
DEVICE_SPREAD: Final = 200.0
# A new release takes over within a day.
TAKE_OVER_HOURS: Final = 24
# As the verdict reads: so many views of each page and side, fewer if there are more than four pages.
MOST_VIEWS: Final = 2_000
LEAST_VIEWS: Final = 200
PAGES_OF_ALL: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """The views of one release in the order of their arrival: page (an index), hour, device class and time."""

    page: IntColumn
    hour: IntColumn
    device: IntColumn
    us: IntColumn
    names: Sequence[str]

    def until(self, hour: int) -> "Arrived":
        """Returns the views that had arrived when an hour began."""
        end = int(np.searchsorted(self.hour, hour))
        return replace(self, page=self.page[:end], hour=self.hour[:end], device=self.device[:end], us=self.us[:end])

    @property
    def views(self) -> int:
        """How many there are."""
        return int(self.us.size)

    def of_page(self, number: int) -> "Arrived":
        """Returns the views of one page."""
        mask = self.page == number
        return replace(self, page=self.page[mask], hour=self.hour[mask], device=self.device[mask], us=self.us[mask])

    def sample(self) -> ViewSample:
        """Returns the views that are read: the first ones, since the order of arrival is random."""
        most = max(LEAST_VIEWS, MOST_VIEWS * PAGES_OF_ALL // max(len(self.names), PAGES_OF_ALL))
        kept = np.sort(
            np.concatenate([np.flatnonzero(self.page == number)[:most] for number in range(len(self.names))])
        )
        codes = np.array([text_code(name) for name in self.names])
        columns = ViewColumns.of(
            self.us[kept].tolist(),
            [0] * kept.size,
            self.device[kept].tolist(),
            page=codes[self.page[kept]].tolist(),
        )
        return sample_of_times(columns, population=self.views)

    def known(self, *, by_page: bool) -> KnownKinds:
        """Returns the exact sums of all views by page (0 without) and device class."""
        sums = {}
        for page in np.unique(self.page).tolist():
            code = text_code(self.names[page])
            for device in np.unique(self.device).tolist():
                mask = (self.page == page) & (self.device == device)
                if mask.any():
                    sums[code, device, 0] = ClassSums(int(mask.sum()), int(self.us[mask].sum()))
        return sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Slower:
    """A page that is slower in a release: its views take `factor` times as long, or are drawn from `recorded`."""

    page: int
    factor: float = 1.0
    recorded: Recorded | None = None


def receive(
    rng: np.random.Generator,
    pages: Sequence[Recorded],
    *,
    views_a_day: float,
    shares: FloatColumn,
    days: int,
    slower: Slower | None = None,
    spread: float = SIGMA,
) -> Arrived:
    """Returns the views of a release in so many days. It takes over within the first.

    A drawn view takes as long as a recorded one, times a lognormal factor with the sigma `spread` and the mean 1.
    """
    hours = np.arange(days * HOURS)
    a_day = 1 + 0.8 * np.sin(2 * np.pi * (hours % HOURS - 9) / HOURS)  # more by day than by night
    wanted = views_a_day / HOURS * a_day * np.minimum((hours + 1) / TAKE_OVER_HOURS, 1.0)
    counts = rng.poisson(wanted)
    hour = np.repeat(hours, counts)
    page = rng.choice(len(pages), size=hour.size, p=shares)
    device, us = np.zeros(hour.size, dtype=np.int64), np.zeros(hour.size, dtype=np.int64)
    for number, page_before in enumerate(pages):
        is_slower = slower is not None and slower.page == number
        recorded = slower.recorded if slower is not None and is_slower and slower.recorded else page_before
        for day in range(days):
            indices = np.flatnonzero((page == number) & (hour // HOURS == day))
            if indices.size:
                device[indices], us[indices] = _draw(rng, recorded, indices.size, spread)
    if slower is not None:
        us = np.where(page == slower.page, np.rint(us * slower.factor).astype(np.int64), us)
    return Arrived(page=page, hour=hour, device=device, us=us, names=[recorded_page.name for recorded_page in pages])


def _draw(rng: np.random.Generator, page: Recorded, size: int, spread: float) -> tuple[IntColumn, IntColumn]:
    """Returns device classes and times of views drawn from a page, on one day."""
    classes, counts = np.unique(page.device, return_counts=True)
    chance = rng.dirichlet(DEVICE_SPREAD * counts / counts.sum())
    device = rng.choice(classes, size=size, p=chance)
    time = page.js_us + page.hidden_us
    us = np.zeros(size)
    for device_class in classes.tolist():
        indices = np.flatnonzero(device == device_class)
        us[indices] = rng.choice(time[page.device == device_class], size=indices.size)
    factor = rng.lognormal(-(spread**2) / 2, spread, size)
    return device, np.rint(us * factor).astype(np.int64)
