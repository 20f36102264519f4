"""Recorded views as a population: samples of any size are drawn from them, each view a little faster or slower."""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from profcore.code.identity import identity_of
from profcore.stats.strata import text_code
from profcore.stats.views import FloatColumn, IntColumn, ViewColumns, ViewSample, sample_of_columns
from profcore.sums.calltree import CallTree, CallTreeBuilder, merge_call_trees
from profcore.sums.fold import ViewFold, contribution_of, fold_trace
from profcore.trace.dimensions import DEVICE_CLASSES
from profcore.trace.funcs import FuncKey, FuncTable
from profcore.trace.wire import Limits, decode_envelope
from tests.corpus import DATA, corpus_envelopes

# A drawn view takes as long as a recorded one, times a lognormal factor with this sigma and mean 1: views drawn twice
# must not be equal.
SIGMA: Final = 0.3
# The recorded classes of speed as device classes: the corpus names them by a tag.
CLASSES: Final = ("desktop-fast", "desktop-slow", "mobile-mid", "mobile-low")
RELEASE: Final = "1.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The recorded views of one page: rows of func, self and hidden µs, the facts of each view, and the call tree.

    Funcs are numbers that mean the same function in all releases (`Population.functions`).
    """

    app: str
    page: str
    lengths: IntColumn
    columns: tuple[IntColumn, IntColumn, IntColumn]
    js_us: IntColumn
    hidden_us: IntColumn
    device: IntColumn
    tag: IntColumn
    is_cold: npt.NDArray[np.bool_]
    tree: CallTree

    @property
    def name(self) -> str:
        """The app and the page."""
        return f"{self.app}{self.page}"

    def heaviest(self, most: int) -> list[int]:
        """Returns the funcs with the most self time, heaviest first."""
        sums = np.bincount(self.columns[0], self.columns[1])
        return [int(func) for func in np.argsort(-sums)[:most] if sums[func]]

    def cost(self, func: int, *columns: int) -> IntColumn:
        """Returns what a function took in each view, by some of the `columns`."""
        view = np.repeat(np.arange(self.js_us.size), self.lengths)
        is_in = self.columns[0] == func
        return sum(
            (_whole(np.bincount(view[is_in], self.columns[at][is_in], minlength=self.js_us.size)) for at in columns),
            start=np.zeros_like(self.js_us),
        )

    def scaled(self, func: int, share: float) -> "Recorded":
        """Returns the page with a function that has this share of its script and hidden time."""
        own, time = self.cost(func, 1, 2).sum(), (self.js_us + self.hidden_us).sum()
        factor = share * (time - own) / (own * (1 - share))
        is_in = self.columns[0] == func
        rows = [_whole(np.where(is_in, column * factor, column)) for column in self.columns[1:]]
        scaled = replace(self, columns=(self.columns[0], rows[0], rows[1]))
        more = [scaled.cost(func, at) - self.cost(func, at) for at in (1, 2)]
        return replace(scaled, js_us=self.js_us + more[0], hidden_us=self.hidden_us + more[1])

    def mean_of_class(self, value: FloatColumn) -> FloatColumn:
        """Returns for each view the mean of a value over its device class."""
        sums, counts = np.bincount(self.device, value), np.bincount(self.device)
        return np.asarray(sums[self.device] / counts[self.device])


@dataclass(frozen=True, slots=True)
class Change:
    """A func that takes `factor` times as long."""

    func: int
    factor: float


@dataclass(slots=True)
class _Growing:
    lengths: list[int] = field(default_factory=list)
    columns: tuple[list[int], list[int], list[int]] = field(default_factory=lambda: ([], [], []))
    views: list[tuple[int, int, int, int, bool]] = field(default_factory=list)
    tree: CallTreeBuilder = field(default_factory=CallTreeBuilder)


class Function(NamedTuple):
    """The identity of a recorded function in all releases: its app, file and name."""

    app: str
    file: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """The recorded pages by release, and their functions by number."""

    releases: Mapping[str, Sequence[Recorded]]
    functions: Sequence[Function]


@cache
def load_populations() -> Population:
    """Returns the recorded pages of all releases; each process reads them once."""
    with gzip.open(DATA / "corpus-names.json.gz") as names:
        known = {FuncKey(*row[:4]): (row[4], row[5]) for row in json.load(names)}
    pages: dict[tuple[str, str, str], _Growing] = {}
    numbers: dict[Function, int] = {}
    funcs = FuncTable()
    for app, wire in corpus_envelopes():
        fold = fold_trace(decode_envelope(json.dumps(wire).encode(), Limits()), page=wire["page"], funcs=funcs)
        view = ViewFold()
        view.add(fold, is_truncated=False)
        contribution = contribution_of(view.sums, range(len(funcs.keys)))
        number_of = {}
        for func in {*contribution.func, *fold.func}:
            key = funcs.keys[func]
            file, name = known.get(key) or (identity_of(key).uri or "", f"{key.name}:{key.line}:{key.column}")
            number_of[func] = numbers.setdefault(Function(app, file, name), len(numbers))
        rows: dict[int, tuple[int, int]] = {}
        for func, own, hidden in zip(contribution.func, contribution.self_us, contribution.hidden_us, strict=True):
            before = rows.get(number_of[func], (0, 0))
            rows[number_of[func]] = before[0] + own, before[1] + hidden
        page = pages.setdefault((wire["release"], app, wire["page"]), _Growing())
        page.lengths.append(len(rows))
        for number in sorted(rows):
            for column, value in zip(page.columns, (number, *rows[number]), strict=True):
                column.append(value)
        tags = wire["tags"]
        device = CLASSES.index(tags["class"]) + 1 if tags["class"] in CLASSES else 0
        page.views.append(
            (fold.parts.js_us, fold.parts.hidden_us, device, text_code(tags["input"]), tags["cache"] == "cold")
        )
        page.tree.add_stacks(
            fold.prefix,
            [number_of[func] for func in fold.func],
            fold.stack_us,
            fold.stack_samples,
            fold.stack_hidden_us,
        )
    assert len(CLASSES) < len(DEVICE_CLASSES)
    releases: dict[str, list[Recorded]] = {}
    for (release, app, name), growing in sorted(pages.items()):
        releases.setdefault(release, []).append(_close(app, name, growing))
    return Population(releases=releases, functions=list(numbers))


def load_population() -> Sequence[Recorded]:
    """Returns the recorded pages in `RELEASE`."""
    return load_populations().releases[RELEASE]


def _close(app: str, page: str, growing: _Growing) -> Recorded:
    js_us, hidden_us, device, tag, cold = (
        np.array(column, dtype=np.int64) for column in zip(*growing.views, strict=True)
    )
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
        is_cold=cold == 1,
        tree=growing.tree.tree,
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
        is_cold=joined("is_cold") == 1,
        tree=merge_call_trees(page.tree for page in pages),
    )


def _whole(values: npt.NDArray[np.generic]) -> IntColumn:
    return np.rint(np.asarray(values, dtype=np.float64)).astype(np.int64)
