"""Recorded views that arrive again, release by release: in sessions, on days that differ, with a mix that changes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.statistics.population import SIGMA, Recorded
from profcore.stats.standardised import ClassSums
from profcore.stats.strata import PageKind, text_code
from profcore.stats.views import FloatColumn, IntColumn, ViewColumns, ViewSample, sample_of_columns

HOURS: Final = 24
# Views of a project in a day: from small sites to middling ones, evenly on a scale of factors.
VIEWS_A_DAY: Final = (50.0, 2_000.0)
# How much the shares of device classes differ from day to day: by a tenth or so of each.
DEVICE_SPREAD: Final = 200.0
# A new release takes over within a day.
TAKE_OVER_HOURS: Final = 24
# As the verdict reads: this many views of each page and side, fewer if there are more than four pages.
MOST_VIEWS: Final = 2_000
LEAST_VIEWS: Final = 200
PAGES_OF_ALL: Final = 4
# The views of a visitor lie within an hour. In an app a few visitors make most of them, in a shop hardly any does.
Sessions = Literal["none", "shop", "app"]
SHOP_STAYS: Final = 0.5
APP_TAIL: Final = 1.1
APP_MOST: Final = 50
# A monitor loads one page view of the fastest class again and again, twice as fast as visitors do.
MONITOR_SPEED: Final = 0.5
MONITOR_SIGMA: Final = 0.05
# The major versions of browsers, oldest first. `Traffic.updated` have the last; of others, a tenth have the first.
BROWSERS: Final = (130, 131, 132)
OLD_BROWSERS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """How many views a day a project has, from and to, and what differs between views that run the same code.

    Visitors and days have a factor of their own, lognormal with these sigmas. `cold` is the share of cold caches, and
    that on the day of a release. `updated` are the shares of base and head in which the browser is newer, and takes
    `browser` times as long. `monitor` are the shares of base and head that a monitor makes. With `names_sessions`
    senders say which views are of one visitor.
    """

    views_a_day: tuple[float, float] = VIEWS_A_DAY
    sessions: Sessions = "none"
    visitor_sigma: float = 0.0
    day_sigma: float = 0.0
    cold: tuple[float, float] | None = None
    updated: tuple[float, float] = (0.3, 0.3)
    browser: float = 1.0
    monitor: tuple[float, float] = (0.0, 0.0)
    names_sessions: bool = False


VISITORS: Final = Traffic()


class Effect(NamedTuple):
    """What each view of a page has more, or less, of one function than was recorded: self and hidden µs."""

    func: int
    self_us: IntColumn
    hidden_us: IntColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class PageViews:
    """The views of one page in the order of arrival: each a recorded one times a factor, with some effects.

    `rank` is random: views are read by it.
    """

    recorded: Recorded
    hour: IntColumn
    picked: IntColumn
    factor: FloatColumn
    rank: FloatColumn
    traits: IntColumn
    session: IntColumn
    effects: tuple[Effect, ...] = ()

    @property
    def views(self) -> int:
        """How many there are."""
        return int(self.picked.size)

    def _pick(self, at: IntColumn) -> "PageViews":
        return replace(
            self,
            hour=self.hour[at],
            picked=self.picked[at],
            factor=self.factor[at],
            rank=self.rank[at],
            traits=self.traits[at],
            session=self.session[at],
            effects=tuple(Effect(effect.func, effect.self_us[at], effect.hidden_us[at]) for effect in self.effects),
        )

    def until(self, hour: int) -> "PageViews":
        """Returns the views that had arrived when an hour began."""
        return self._pick(np.arange(np.searchsorted(self.hour, hour)))

    def read(self, most: int) -> "PageViews":
        """Returns the views that are read: up to so many, any of all."""
        return self if self.views <= most else self._pick(np.sort(np.argpartition(self.rank, most)[:most]))

    def times_us(self) -> tuple[IntColumn, IntColumn]:
        """Returns the script and hidden time of each view."""
        recorded = self.recorded.js_us, self.recorded.hidden_us
        js_us, hidden_us = (whole(column[self.picked] * self.factor) for column in recorded)
        for effect in self.effects:
            js_us, hidden_us = js_us + effect.self_us, hidden_us + effect.hidden_us
        return js_us, hidden_us

    def known(self) -> dict[PageKind, ClassSums]:
        """Returns the exact sums of all views by page and device class."""
        us, device, code = sum(self.times_us()), self.recorded.device[self.picked], text_code(self.recorded.name)
        counts, sums = np.bincount(device), np.bincount(device, us)
        return {(code, at, 0): ClassSums(int(counts[at]), int(sums[at])) for at in np.flatnonzero(counts).tolist()}

    def sample(self, most: int) -> ViewSample:
        """Returns the views that are read, with their functions."""
        part, page = self.read(most), self.recorded
        lengths = page.lengths[part.picked]
        starts = np.cumsum(page.lengths) - page.lengths
        at = np.repeat(starts[part.picked] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        factor, view = np.repeat(part.factor, lengths), np.repeat(np.arange(part.views), lengths)
        rows = [page.columns[0][at], whole(page.columns[1][at] * factor), whole(page.columns[2][at] * factor)]
        if part.effects:
            lengths, rows = _add_effects(part, view, rows)
        js_us, hidden_us = part.times_us()
        columns = ViewColumns.of(
            js_us.tolist(),
            hidden_us.tolist(),
            page.device[part.picked].tolist(),
            page=[text_code(self.recorded.name)] * part.views,
            hour=part.hour.tolist(),
            traits=part.traits.tolist(),
            session=part.session.tolist(),
        )
        return sample_of_columns(lengths, [rows[0], rows[1], rows[1], rows[2]], columns, self.views)


@dataclass(frozen=True, slots=True)
class Arrived:
    """The views of one release, by page."""

    pages: Sequence[PageViews]

    @property
    def views(self) -> int:
        """How many there are."""
        return sum(page.views for page in self.pages)

    @property
    def most(self) -> int:
        """How many views of each page are read."""
        return max(LEAST_VIEWS, MOST_VIEWS * PAGES_OF_ALL // max(len(self.pages), PAGES_OF_ALL))

    def until(self, hour: int) -> "Arrived":
        """Returns the views that had arrived when an hour began."""
        return Arrived([page.until(hour) for page in self.pages])


def whole(values: npt.ArrayLike) -> IntColumn:
    """Returns values as whole µs."""
    return np.rint(values).astype(np.int64)


def _add_effects(part: PageViews, view: IntColumn, rows: Sequence[IntColumn]) -> tuple[IntColumn, list[IntColumn]]:
    every = np.arange(part.views)
    view = np.concatenate([view, *(every for _ in part.effects)])
    func = np.concatenate([rows[0], *(np.full(part.views, effect.func) for effect in part.effects)])
    times = [
        np.concatenate([rows[1], *(effect.self_us for effect in part.effects)]),
        np.concatenate([rows[2], *(effect.hidden_us for effect in part.effects)]),
    ]
    width = int(func.max()) + 1
    keys, place = np.unique(view * width + func, return_inverse=True)
    self_us, hidden_us = (whole(np.bincount(place, column, minlength=keys.size)) for column in times)
    kept = np.flatnonzero((self_us > 0) | (hidden_us > 0))
    view, func = np.divmod(keys[kept], width)
    return np.bincount(view, minlength=part.views), [func, self_us[kept], hidden_us[kept]]


def receive(
    rng: np.random.Generator,
    pages: Sequence[Recorded],
    *,
    views_a_day: float,
    shares: FloatColumn,
    days: int,
    traffic: Traffic = VISITORS,
    is_head: bool = False,
    of_days: FloatColumn | None = None,
) -> Arrived:
    """Returns the views of a release in so many days. It takes over within the first; a base was there before day 0.

    With the factors `of_days` it comes in the last of these days, also if it is the head.
    """
    hours = np.arange(days * HOURS)
    a_day = 1 + 0.8 * np.sin(2 * np.pi * (hours % HOURS - 9) / HOURS)  # more by day than by night
    wanted = views_a_day / HOURS * a_day * np.minimum((hours + 1) / TAKE_OVER_HOURS, 1.0)
    visitor = _draw_visitors(rng, int(rng.poisson(wanted.sum())), traffic.sessions)
    visitors = int(visitor[-1]) + 1 if visitor.size else 0
    hour_of = np.sort(rng.choice(hours, visitors, p=wanted / wanted.sum()))
    device_of = np.zeros(visitors, dtype=np.int64)
    classes, counts = np.unique(pages[0].device, return_counts=True)
    for day in range(days):
        is_in = hour_of // HOURS == day
        chance = rng.dirichlet(DEVICE_SPREAD * counts / counts.sum())
        device_of[is_in] = rng.choice(classes, size=int(is_in.sum()), p=chance)
    hour, device = hour_of[visitor], device_of[visitor]
    factor = _lognormal(rng, traffic.visitor_sigma, visitors)[visitor] * _lognormal(rng, SIGMA, hour.size)
    factor *= (draw_days(rng, traffic, days) if of_days is None else of_days[-days:])[hour // HOURS]
    chance = rng.random(hour.size)
    updated = traffic.updated[is_head]
    factor *= np.where(chance < updated, traffic.browser, 1.0)
    traits = np.array(BROWSERS)[np.where(chance < updated, 2, chance < 1 - OLD_BROWSERS * (1 - updated))]
    is_monitor = rng.random(hour.size) < traffic.monitor[is_head]
    factor = np.where(is_monitor, MONITOR_SPEED * _lognormal(rng, MONITOR_SIGMA, hour.size), factor)
    page_of = rng.choice(len(pages), size=hour.size, p=shares)
    before = days * is_head if of_days is None else len(of_days) - days
    start = (1 + before) * HOURS
    session = visitor + 1 if traffic.names_sessions else np.zeros_like(visitor)
    received = []
    for number, page in enumerate(pages):
        at = np.flatnonzero(page_of == number)
        picked = _pick_views(rng, page, device[at], _find_cold(hour[at], traffic, is_head))
        picked = np.where(is_monitor[at], _find_monitored(page), picked)
        received.append(
            PageViews(
                recorded=page,
                hour=hour[at] + start,
                picked=picked,
                factor=factor[at],
                rank=rng.random(at.size),
                traits=traits[at],
                session=session[at],
            )
        )
    return Arrived(received)


def draw_days(rng: np.random.Generator, traffic: Traffic, days: int) -> FloatColumn:
    """Returns a factor of each day."""
    return _lognormal(rng, traffic.day_sigma, days)


def _lognormal(rng: np.random.Generator, sigma: float, size: int) -> FloatColumn:
    """Returns factors with the mean 1."""
    return rng.lognormal(-(sigma**2) / 2, sigma, size)


def _draw_visitors(rng: np.random.Generator, views: int, sessions: Sessions) -> IntColumn:
    """Returns the number of the visitor of each view, visitor by visitor."""
    if sessions == "none":
        return np.arange(views)
    sizes = rng.geometric(SHOP_STAYS, views) if sessions == "shop" else 1 + whole(np.floor(rng.pareto(APP_TAIL, views)))
    return np.repeat(np.arange(views), np.clip(sizes, 1, APP_MOST))[:views]


def _find_cold(hour: IntColumn, traffic: Traffic, is_head: bool) -> FloatColumn | None:
    """Returns the share of cold caches when each view arrived, None for that of the recorded views."""
    if traffic.cold is None:
        return None
    usual, at_release = traffic.cold
    return np.where((hour < HOURS) & is_head, at_release, usual)


def _pick_views(rng: np.random.Generator, page: Recorded, device: IntColumn, cold: FloatColumn | None) -> IntColumn:
    """Returns a recorded view of each device class, and of a cold or warm cache."""
    picked = np.zeros(device.size, dtype=np.int64)
    is_cold = rng.random(device.size) < cold if cold is not None else np.zeros(device.size, dtype=bool)
    for device_class in np.unique(device).tolist():
        recorded = np.flatnonzero(page.device == device_class)
        for kind in (False, True):
            at = np.flatnonzero((device == device_class) & (is_cold == kind))
            pool = recorded if cold is None else recorded[page.is_cold[recorded] == kind]
            picked[at] = rng.choice(pool if pool.size else recorded, size=at.size)
    return picked


def _find_monitored(page: Recorded) -> int:
    """Returns the view that a monitor loads: of the fastest class, shorter than most."""
    fastest = np.flatnonzero(page.device == page.device.min())
    order = np.argsort((page.js_us + page.hidden_us)[fastest])
    return int(fastest[order[fastest.size // 4]])
