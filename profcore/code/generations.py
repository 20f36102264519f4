"""Two builds under one release name: a script whose content hash changes within a release, as page views show it."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from profcore.code.identity import without_hash

# That the times of ten views of each are apart by chance has odds of 1 to 4,900. Fewer views prove nothing.
MIN_VIEWS: Final = 10
# An entry script runs in most views. Views with few samples may not show it.
LEAST_SHARE: Final = 0.5
# Chunks of one build often differ only in their hash, and run together. Two builds do not, or hardly ever.
MOST_TOGETHER: Final = 0.05
# The chance that a view of the second build is later than one of the first; 0.5 if both run all the time.
LEAST_ORDER: Final = 0.95


class ScriptsOfView(NamedTuple):
    """When a page view began, on any clock, and the URIs of the scripts that it ran."""

    at: float
    uris: Collection[str]


class Generations(NamedTuple):
    """The URIs of a script in an earlier and a later build, and how many views ran one of them."""

    earlier: str
    later: str
    views: int


def find_generations(views: Sequence[ScriptsOfView]) -> Generations | None:
    """Returns the script with two generations in the views of one page and release; of several, that with most views.

    Each of the two ran in `MIN_VIEWS` views or more, hardly ever both in one, and one after the other. Scripts without
    a content hash in their name say nothing.
    """
    by_script: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    hashed: set[int] = set()
    for number, view in enumerate(views):
        for uri in view.uris:
            if (script := without_hash(uri)) != uri:
                by_script[script][uri].add(number)
                hashed.add(number)
    pairs = []
    for of_uri in by_script.values():
        common = sorted(of_uri, key=lambda uri: (-len(of_uri[uri]), uri))[:2]
        if len(common) == 2 and _is_entry(of_uri[common[0]], of_uri[common[1]], len(hashed)):
            times = [sorted(views[number].at for number in of_uri[uri]) for uri in common]
            order = _order_of(*times)
            if max(order, 1 - order) >= LEAST_ORDER:
                earlier, later = common if order > 0.5 else common[::-1]
                pairs.append(Generations(earlier, later, len(of_uri[earlier] | of_uri[later])))
    return max(pairs, key=lambda pair: (pair.views, pair.earlier), default=None)


def _is_entry(one: set[int], other: set[int], hashed: int) -> bool:
    """Returns whether two scripts, by the views that ran them, may be two builds of one entry script."""
    rarer = min(len(one), len(other))
    return rarer >= MIN_VIEWS and len(one & other) <= MOST_TOGETHER * rarer and len(one | other) >= LEAST_SHARE * hashed


def _order_of(first: Sequence[float], second: Sequence[float]) -> float:
    """Returns the chance that one of the second times is later than one of the first. Equal times count half."""
    later = sum(bisect_left(first, at) + bisect_right(first, at) for at in second)
    return later / (2 * len(first) * len(second))
