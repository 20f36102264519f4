"""From recordings to a month of page views: which recording is seen again when, on which device and in which browser.

Nothing in a trace changes. A view gets an id of its own, another date, and the name of a browser. Everything is drawn
by a fixed seed, so that loading again means the same views.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid5

SEED: Final = 20260101
NAMESPACE: Final = UUID("6f1f6a0e-5f4e-5c58-9c57-2a3f3c4f5d10")
# Days before now between which each release is live: the older ends where the newer begins.
LIVE_DAYS: Final[Mapping[str, tuple[float, float]]] = {
    "1.0.0": (29.9, 14.0),
    "1.1.0": (14.0, 5.0),
    "1.2.0": (5.0, 0.005),
}
PAGE_SHARES: Final = {"/": 0.28, "/category/:name": 0.27, "/product/:id": 0.29, "/checkout": 0.16}
DEVICE_SHARES: Final = {"desktop-high": 0.36, "desktop-low": 0.16, "mobile-high": 0.30, "mobile-low": 0.18}
_WINDOWS: Final = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
_ANDROID: Final = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
# Browsers with the API, which are those of Chromium: their user agents and shares, on desktops and on phones.
DESKTOP_AGENTS: Final = {
    f"{_WINDOWS}Chrome/156.0.0.0 Safari/537.36": 0.74,
    f"{_WINDOWS}Chrome/156.0.0.0 Safari/537.36 Edg/156.0.0.0": 0.20,
    f"{_WINDOWS}Chrome/155.0.0.0 Safari/537.36 OPR/139.0.0.0": 0.06,
}
PHONE_AGENTS: Final = {
    f"{_ANDROID}Chrome/156.0.0.0 Mobile Safari/537.36": 0.72,
    f"{_ANDROID}SamsungBrowser/31.0 Chrome/152.0.0.0 Mobile Safari/537.36": 0.22,
    f"{_ANDROID}Chrome/155.0.0.0 Mobile Safari/537.36 OPR/95.0.0.0": 0.06,
}
# Visits by the hour of the day (UTC): few at night, most in the evening.
HOUR_WEIGHTS: Final = (2, 1, 1, 1, 1, 2, 3, 5, 7, 8, 8, 8, 9, 9, 8, 8, 8, 9, 11, 13, 14, 12, 8, 4)

Cell = tuple[str, str, str]  # release, page, device


@dataclass(frozen=True, slots=True)
class Resampled:
    """One page view to load: the number of its recording, its own id, when it began, and its browser's name."""

    recording: int
    view_id: UUID
    started_at: datetime
    user_agent: str


def resample(recordings: Sequence[Cell], now: datetime, views: int) -> list[Resampled]:
    """Returns about `views` page views of the last 30 days, the oldest first.

    `recordings` says which release, page and device each recording shows.
    """
    chance = random.Random(SEED)  # noqa: S311  # repeatable, and no secret
    draws = {cell: _take_turns(numbers, chance) for cell, numbers in _group(recordings).items()}
    first, last = max(LIVE_DAYS.values())[0], min(ends for _, ends in LIVE_DAYS.values())
    resampled = []
    for release, (begins, ends) in LIVE_DAYS.items():
        count = round(views * (begins - ends) / (first - last))
        for number in range(count):
            page, device = _draw(PAGE_SHARES, chance), _draw(DEVICE_SHARES, chance)
            agents = PHONE_AGENTS if device.startswith("mobile") else DESKTOP_AGENTS
            days = begins + (ends - begins) * (number + 0.5) / count
            resampled.append(
                Resampled(
                    recording=next(draws[release, page, device]),
                    view_id=uuid5(NAMESPACE, f"{release}/{number}"),
                    started_at=_move_to_busy_hour(now - timedelta(days=days), now, (begins, ends), chance),
                    user_agent=_draw(agents, chance),
                )
            )
    resampled.sort(key=lambda view: (view.started_at, view.view_id))
    return resampled


def _group(recordings: Iterable[Cell]) -> dict[Cell, list[int]]:
    numbers_of: dict[Cell, list[int]] = defaultdict(list)
    for number, cell in enumerate(recordings):
        numbers_of[cell].append(number)
    return numbers_of


def _take_turns(numbers: Sequence[int], chance: random.Random) -> Iterator[int]:
    """Yields the recordings of a cell in a random order, all of them before any comes again."""
    while True:
        yield from chance.sample(numbers, len(numbers))


def _draw(shares: Mapping[str, float], chance: random.Random) -> str:
    return chance.choices(list(shares), list(shares.values()))[0]


def _move_to_busy_hour(at: datetime, now: datetime, days: tuple[float, float], chance: random.Random) -> datetime:
    """Returns a moment of the same day at an hour that people choose, within the time of the release."""
    earliest, latest = (now - timedelta(days=age) for age in days)
    hour = chance.choices(range(24), HOUR_WEIGHTS)[0]
    moved = at.replace(hour=hour, minute=chance.randrange(60), second=chance.randrange(60))
    return moved if earliest < moved < latest else at
