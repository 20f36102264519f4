"""The estimate: in the field a function's time grows by the factor by which it grew in the lab.

That is a model, not a measurement. Field devices, inputs and caches differ from the lab's, and a change may cost there
more or less than its factor. So every estimate comes with how well the same rule foretold earlier releases.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from statistics import median, quantiles
from typing import Final

from fieldflame.lab.costs import Compared, FieldCost, FieldTable, FuncName, LabChange

# Below this a factor says nothing: a sample or two.
LEAST_LAB_MS: Final = 0.5
# For the middle half of some ratios there must be four.
LEAST_FOR_RANGE: Final = 4
# By how many times the estimate the field may change, where no earlier releases tell: of 20 estimates of a recorded
# shop the middle half changed by 1.0 to 2.0 times (docs/ci.md).
ALLOWANCE: Final = (0.5, 2.0)


@dataclass(frozen=True)
class Guess:
    """What a change in the lab would be per page view on one kind of device.

    `is_own` says that the function's own factor was used. A function that is new has none: it is scaled as all others
    together.
    """

    ms: float
    ci95: tuple[float, float]
    is_own: bool


@dataclass(frozen=True)
class Estimate:
    """A change of the lab, and what it would be by kind of device; without one where the field does not know it."""

    change: LabChange
    guesses: Mapping[str, Guess]


@dataclass(frozen=True)
class Agreement:
    """How the rule did on earlier releases: each function that changed in the lab and is known in the field.

    `ratios` are the measured change of the field divided by the estimate.
    """

    releases: int
    functions: int
    same_way: int
    ratios: tuple[float, ...]

    @property
    def middle(self) -> float | None:
        """The middle one of the ratios."""
        return median(self.ratios) if self.ratios else None

    @property
    def middle_half(self) -> tuple[float, float] | None:
        """Between which the middle half of the ratios lies."""
        if len(self.ratios) < LEAST_FOR_RANGE:
            return None
        low, _, high = quantiles(self.ratios, n=4, method="inclusive")
        return low, high

    @property
    def allowance(self) -> tuple[float, float]:
        """By how many times an estimate the field may change: as the middle half did, else `ALLOWANCE`. 1 is within."""
        half = self.middle_half
        return ALLOWANCE if half is None else (min(half[0], 1.0), max(half[1], 1.0))


def estimate(
    lab: Compared, field: Mapping[str, FieldTable], allowance: tuple[float, float] = ALLOWANCE
) -> list[Estimate]:
    """Returns the changes of the lab with their estimates, the largest first.

    `allowance` is by how many times an estimate the field may change: each interval is widened by it.
    """
    scales = {kind: find_scale(lab, table) for kind, table in field.items()}
    estimates = []
    for change in lab.changes:
        guesses = {}
        known = {} if is_replaced(change, lab) else field
        for kind, table in known.items():
            guess = _guess(change, table, scales[kind], allowance)
            if guess is not None:
                guesses[kind] = guess
        estimates.append(Estimate(change, guesses))
    return sorted(estimates, key=lambda row: -max((abs(guess.ms) for guess in row.guesses.values()), default=0.0))


def is_replaced(change: LabChange, lab: Compared) -> bool:
    """Returns whether a new or gone function may be one that only moved in its script, and so is new and gone.

    Without a source map a function is known by its place. It may have moved if its name is minified, or if another one
    of its name was there on the other side.
    """
    is_new, is_gone = change.base_ms < LEAST_LAB_MS, change.head_ms == 0
    if change.name.source or not (is_new or is_gone):
        return False
    peers = [peer for peer in lab.all if peer is not change and peer.name.label == change.name.label]
    return not change.name.is_telling or any((peer.base_ms if is_new else peer.head_ms) > 0 for peer in peers)


def is_moved(lab: Compared) -> bool:
    """Returns whether the lab's page views as a whole did not clearly change in the direction of their functions.

    Then time may only have moved from functions whose change is not clear, as into a new callee. False if the lab does
    not know.
    """
    if lab.whole_ci95 is None or not lab.changes:
        return False
    low, high = lab.whole_ci95
    delta_ms = sum(change.head_ms - change.base_ms for change in lab.changes)
    return low <= 0 if delta_ms > 0 else high >= 0


def find_scale(lab: Compared, table: FieldTable) -> float | None:
    """Returns how many ms of the field one ms of the lab stands for, over all functions that both know."""
    pairs = [(change.base_ms, table.find(change.name)) for change in lab.all if change.base_ms >= LEAST_LAB_MS]
    known = [(lab_ms, cost.ms) for lab_ms, cost in pairs if cost is not None]
    lab_ms = sum(ms for ms, _ in known)
    return sum(ms for _, ms in known) / lab_ms if lab_ms else None


def _guess(change: LabChange, table: FieldTable, scale: float | None, allowance: tuple[float, float]) -> Guess | None:
    cost = table.find(change.name)
    if cost is not None and change.base_ms >= LEAST_LAB_MS:
        growth = change.head_ms / change.base_ms - 1
        return Guess(cost.ms * growth, _bound(cost, change, growth, allowance), is_own=True)
    if change.base_ms >= LEAST_LAB_MS or scale is None:
        return None  # it exists, and the field does not run it
    ms = change.head_ms * scale
    return Guess(ms, (0.0, 2 * ms), is_own=False)


def _bound(cost: FieldCost, change: LabChange, growth: float, allowance: tuple[float, float]) -> tuple[float, float]:
    """Returns the interval of an estimate: the field's time, times the lab's growth, times how far such rules are off.

    Each of the three has an interval, combined as those of independent factors are (Zou and Donner's MOVER): each moves
    the product by itself, and the ways are added as squares.
    """
    ms = cost.ms * growth
    moved = [[bound * growth for bound in cost.ci95], [ms * times for times in allowance]]
    if change.delta_ci95 is not None:
        moved.append([cost.ms * delta / change.base_ms for delta in change.delta_ci95])
    below = hypot(*(max(ms - min(ends), 0.0) for ends in moved))
    above = hypot(*(max(max(ends) - ms, 0.0) for ends in moved))
    return ms - below, ms + above


def total(estimates: Iterable[Estimate]) -> dict[str, Guess]:
    """Returns the sum by kind of device. Its interval adds those of the functions, so it is rather too wide."""
    sums: dict[str, Guess] = {}
    for estimated in estimates:
        for kind, guess in estimated.guesses.items():
            before = sums.get(kind, Guess(0.0, (0.0, 0.0), is_own=True))
            interval = (before.ci95[0] + guess.ci95[0], before.ci95[1] + guess.ci95[1])
            sums[kind] = Guess(before.ms + guess.ms, interval, before.is_own and guess.is_own)
    return sums


def measure_agreement(pairs: Sequence[tuple[Compared, Compared]]) -> Agreement:
    """Returns how well the lab foretold the field on earlier releases: pairs of a lab's and a field's comparison."""
    functions = same_way = releases = 0
    ratios = []
    for lab, field in pairs:
        if lab.is_too_few or field.is_too_few:
            continue
        releases += 1
        known: dict[FuncName, LabChange] = {change.name: change for change in field.all}
        for change in lab.changes:
            there = known.get(change.name)
            if there is None or change.base_ms < LEAST_LAB_MS or there.base_ms <= 0:
                continue
            foretold = there.base_ms * (change.head_ms / change.base_ms - 1)
            ratio = (there.head_ms - there.base_ms) / foretold
            functions += 1
            same_way += ratio > 0
            ratios.append(ratio)
    return Agreement(releases, functions, same_way, tuple(ratios))
