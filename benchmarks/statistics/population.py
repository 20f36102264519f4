"""Recorded views as a population: samples of any size are drawn from them, each view a little faster or slower."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from profcore.stats.strata import text_code
from profcore.stats.views import IntColumn, ViewColumns, ViewSample, sample_of_columns
from profcore.sums.fold import ViewFold, contribution_of, fold_trace
from profcore.trace.dimensions import DEVICE_CLASSES
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits, decode_envelope
from tests.corpus import corpus_envelopes

# A drawn view takes as long as a recorded one, times a lognormal factor with this sigma and mean 1: views drawn twice
# must not be equal.
SIGMA: Final = 0.3
# The recorded classes of speed as device classes: the corpus names them by a tag.
CLASSES: Final = ("desktop-fast", "desktop-slow", "mobile-mid", "mobile-low")
RELEASE: Final = "1.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The recorded views of one page: rows of func, self and hidden µs, and the facts of each view."""

    app: str
    page: str
    lengths: IntColumn
    columns: tuple[IntColumn, IntColumn, IntColumn]
    js_us: IntColumn
    hidden_us: IntColumn
    device: IntColumn
    tag: IntColumn

    @property
    def name(self) -> str:
        """The app and the page."""
        return f"{self.app}{self.page}"

    def heaviest(self, most: int) -> list[int]:
        """Returns the funcs with the most self time, heaviest first."""
        sums = np.bincount(self.columns[0], self.columns[1])
        return [int(func) for func in np.argsort(-sums)[:most] if sums[func]]


@dataclass(frozen=True, slots=True)
class Change:
    """A func that takes `factor` times as long."""

    func: int
    factor: float


@dataclass(slots=True)
class _Growing:
    lengths: list[int] = field(default_factory=list)
    columns: tuple[list[int], list[int], list[int]] = field(default_factory=lambda: ([], [], []))
    views: list[tuple[int, int, int, int]] = field(default_factory=list)


def read_population(release: str = RELEASE) -> list[Recorded]:
    """Returns the recorded pages in one release."""
    pages: dict[tuple[str, str], _Growing] = {}
    funcs = FuncTable()
    for app, wire in corpus_envelopes():
        if wire["release"] != release:
            continue
        fold = fold_trace(decode_envelope(json.dumps(wire).encode(), Limits()), page=wire["page"], funcs=funcs)
        view = ViewFold()
        view.add(fold, is_truncated=False)
        contribution = contribution_of(view.sums, range(len(funcs.keys)))
        page = pages.setdefault((app, wire["page"]), _Growing())
        page.lengths.append(len(contribution.func))
        for column, values in zip(
            page.columns, (contribution.func, contribution.self_us, contribution.hidden_us), strict=True
        ):
            column.extend(values)
        tags = wire["tags"]
        device = CLASSES.index(tags["class"]) + 1 if tags["class"] in CLASSES else 0
        page.views.append((fold.parts.js_us, fold.parts.hidden_us, device, text_code(tags["input"])))
    assert len(CLASSES) < len(DEVICE_CLASSES)
    return [_close(app, page, growing) for (app, page), growing in sorted(pages.items())]


@cache
def load_population() -> list[Recorded]:
    """Returns the recorded pages in `RELEASE`; each process reads them once."""
    return read_population()


def _close(app: str, page: str, growing: _Growing) -> Recorded:
    js_us, hidden_us, device, tag = (np.array(column, dtype=np.int64) for column in zip(*growing.views, strict=True))
    func, self_us, hidden = (np.array(column, dtype=np.int64) for column in growing.columns)
    return Recorded(
        app=app,
        page=page,
        lengths=np.array(growing.lengths, dtype=np.int64),
        columns=(func, self_us, hidden),
        js_us=js_us,
        hidden_us=hidden_us,
        device=device,
        tag=tag,
    )


def draw(
    rng: np.random.Generator,
    page: Recorded,
    views: int,
    *,
    change: Change | None = None,
    slow: float = 0.0,
    rates: tuple[float, float] = (1.0, 1.0),
) -> ViewSample:
    """Returns `views` views drawn from a page.

    `slow` moves so many views from other classes to the slowest one. `rates` are the sample rates of the fastest class
    and of the others: views of a class with a smaller rate are drawn more rarely, and count for more.
    """
    return draw_pages(rng, [page], [1.0], views, change=change, slow=slow, rates=rates)


def draw_pages(
    rng: np.random.Generator,
    pages: Sequence[Recorded],
    shares: Sequence[float],
    views: int,
    *,
    change: Change | None = None,
    slow: float = 0.0,
    rates: tuple[float, float] = (1.0, 1.0),
) -> ViewSample:
    """Returns `views` views drawn from several pages with these shares."""
    whole = join_pages(pages)
    chance = np.repeat(
        np.array(shares) / sum(shares) / [page.js_us.size for page in pages], [page.js_us.size for page in pages]
    )
    is_slowest = whole.device == whole.device.max()
    if slow:
        chance = np.where(is_slowest, chance * (1 + slow / chance[is_slowest].sum()), chance)
        chance = np.where(is_slowest, chance, chance * (1 - slow / chance[~is_slowest].sum()))
    rate = np.where(whole.device == 1, rates[0], rates[1])
    chance = chance * rate
    picked = rng.choice(whole.js_us.size, size=views, p=chance / chance.sum())
    factor = rng.lognormal(-(SIGMA**2) / 2, SIGMA, views)
    lengths = whole.lengths[picked]
    starts = np.cumsum(whole.lengths) - whole.lengths
    at = np.repeat(starts[picked] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    func, self_us, hidden_us = (column[at] for column in whole.columns)
    row_factor = np.repeat(factor, lengths)
    own_factor = row_factor if change is None else np.where(func == change.func, row_factor * change.factor, row_factor)
    extra = [
        _whole(np.bincount(np.repeat(np.arange(views), lengths), column * (own_factor - row_factor), minlength=views))
        for column in (self_us, hidden_us)
    ]
    self_us, hidden_us = _whole(self_us * own_factor), _whole(hidden_us * own_factor)
    names = [page.name for page in pages]
    page_of = np.repeat(np.arange(len(pages)), [page.js_us.size for page in pages])
    columns = ViewColumns.of(
        (_whole(whole.js_us[picked] * factor) + extra[0]).tolist(),
        (_whole(whole.hidden_us[picked] * factor) + extra[1]).tolist(),
        whole.device[picked].tolist(),
        rate[picked].tolist(),
        page=np.array([text_code(name) for name in names])[page_of[picked]].tolist(),
        tag=whole.tag[picked].tolist(),
    )
    return sample_of_columns(lengths, [func, self_us, self_us, hidden_us], columns)


def join_pages(pages: Sequence[Recorded]) -> Recorded:
    """Returns the views of several pages, page after page."""
    if len(pages) == 1:
        return pages[0]

    def joined(name: str) -> IntColumn:
        return np.concatenate([getattr(page, name) for page in pages])

    func, self_us, hidden_us = (np.concatenate([page.columns[at] for page in pages]) for at in range(3))
    return Recorded(
        app=pages[0].app,
        page="",
        lengths=joined("lengths"),
        columns=(func, self_us, hidden_us),
        js_us=joined("js_us"),
        hidden_us=joined("hidden_us"),
        device=joined("device"),
        tag=joined("tag"),
    )


def _whole(values: npt.NDArray[np.generic]) -> IntColumn:
    return np.rint(np.asarray(values, dtype=np.float64)).astype(np.int64)
