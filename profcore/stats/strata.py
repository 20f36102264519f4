"""The strata of a comparison: views of one device class and one navigation are compared with each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from profcore.stats.standardised import ClassSums
from profcore.stats.views import IntColumn, ViewFacts
from profcore.trace.dimensions import NAVIGATIONS

# A stratum with a single view on one side has no variance there: its views are left out and counted.
MIN_STRATUM_VIEWS: Final = 2
UNKNOWN_NAVIGATION: Final = NAVIGATIONS.index("unknown")

Kind = tuple[int, int]  # the codes of device class and navigation
KnownKinds = Mapping[Kind, ClassSums]
Stratum = tuple[int, int | None]  # the same; a navigation of None means that the class is not divided


@dataclass(frozen=True, slots=True)
class Strata:
    """The strata that both sides have, and the number of each view's stratum in base and head (-1: left out)."""

    shared: Sequence[Stratum]
    codes: tuple[IntColumn, IntColumn]

    def known(self, sums: KnownKinds) -> list[ClassSums]:
        """Returns one side's sums of all views by stratum; [] if a stratum has none."""
        found = []
        for device, navigation in self.shared:
            own = [each for (d, n), each in sums.items() if d == device and navigation in (None, n)]
            if not own:  # views that were received after the sums were read
                return []
            found.append(ClassSums(sum(each.views for each in own), sum(each.us for each in own)))
        return found

    def mix_of_devices(self, mix: Sequence[float]) -> tuple[tuple[int, float], ...]:
        """Returns the share of each device class, given that of each stratum."""
        shares: dict[int, float] = {}
        for (device, _), share in zip(self.shared, mix, strict=False):
            shares[device] = shares.get(device, 0.0) + share
        return tuple(shares.items())

    def mix_of_navigations(self, mix: Sequence[float]) -> tuple[tuple[int, float], ...]:
        """Returns the share of each navigation; that of classes that are not divided is unknown."""
        shares: dict[int, float] = {}
        for (_, navigation), share in zip(self.shared, mix, strict=False):
            code = UNKNOWN_NAVIGATION if navigation is None else navigation
            shares[code] = shares.get(code, 0.0) + share
        return tuple(sorted(shares.items()))


def find_strata(base: ViewFacts, head: ViewFacts, *, by_device: bool, by_navigation: bool) -> Strata:
    """Returns the strata of two samples.

    A device class is not divided by navigation if most of its views on either side have an unknown one: what such views
    are cannot be said, so nothing is a stratum of both sides. That is so until all senders name it, and of imports.
    """
    devices = [facts.device_class if by_device else np.zeros_like(facts.device_class) for facts in (base, head)]
    own = [facts.navigation for facts in (base, head)]
    shared: list[Stratum] = []
    codes = [np.full(each.size, -1, dtype=np.int64) for each in devices]
    for device in np.intersect1d(devices[0], devices[1]).tolist():
        is_in = [each == device for each in devices]
        navigations: list[int | None] = [None]
        if by_navigation and all(
            2 * np.sum(each[inside] == UNKNOWN_NAVIGATION) <= np.sum(inside)
            for each, inside in zip(own, is_in, strict=True)
        ):
            navigations = np.intersect1d(own[0][is_in[0]], own[1][is_in[1]]).tolist()
        for navigation in navigations:
            chosen = [
                inside if navigation is None else inside & (each == navigation)
                for each, inside in zip(own, is_in, strict=True)
            ]
            if min(np.sum(each) for each in chosen) < MIN_STRATUM_VIEWS:
                continue
            for side, each in enumerate(chosen):
                codes[side][each] = len(shared)
            shared.append((device, navigation))
    return Strata(shared, (codes[0], codes[1]))
