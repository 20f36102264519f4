"""One release, watched as the guard watches it: the verdict's looks, bounds and family, and the guard's states."""

from dataclasses import dataclass, field
from typing import Final

from bench.guard.arrivals import HOURS, Arrived
from profcore.guard.states import Standing, State, step, weigh_change
from profcore.stats.comparison import MIN_COMPARED_VIEWS, Comparison, compare
from profcore.stats.plan import LookPoint, bound_of_newest, is_another_look
from profcore.stats.verdict import judge

PLAN_DAYS: Final = 14
STEPS: Final = 10


@dataclass(slots=True, kw_only=True)
class Watched:
    """What became of a release. `suspected` and `confirmed` have the views of each page when it was first so.

    The key None is all pages together. `scores` are the rank test's z² per information at the last look, by page.
    """

    looks: int = 0
    suspected: dict[str | None, int] = field(default_factory=dict)
    confirmed: dict[str | None, int] = field(default_factory=dict)
    scores: dict[str | None, tuple[float, float]] = field(default_factory=dict)  # z, information


def watch_release(base: Arrived, head: Arrived, *, days: int, until: str | None = None) -> Watched:
    """Watches a release for some days, once an hour, or until a page is confirmed; `base` is complete."""
    found, points = Watched(), list[LookPoint]()
    standings: dict[str | None, Standing] = {}
    for hour in range(1, days * HOURS + 1):
        now = head.until(hour)
        if not now.views:
            continue
        step_of_time = int(hour / HOURS / PLAN_DAYS * STEPS)
        reached = min(max(now.views / base.views, step_of_time / STEPS), 1.0)
        point = LookPoint(reached, base.views * now.views / (base.views + now.views))
        if now.views < MIN_COMPARED_VIEWS or not is_another_look(points, point):
            continue
        points.append(point)
        _look(found, standings, base, now, bound_of_newest(points))
        found.looks += 1
        if until is not None and until in found.confirmed:
            break
    return found


def _look(found: Watched, standings: dict[str | None, Standing], base: Arrived, head: Arrived, bound: float) -> None:
    pages: dict[str, Comparison] = {}
    for number, name in enumerate(base.names):
        sides = base.of_page(number), head.of_page(number)
        if all(side.views for side in sides):
            pages[name] = _compare(*sides, by_page=False)
    if not pages:
        return
    whole = next(iter(pages.values())) if len(pages) == 1 else _compare(base, head, by_page=True)
    judgement = judge(whole, pages, bound=bound)
    for change in [*judgement.pages, *([judgement.whole] if len(pages) > 1 else [])]:
        standing = step(standings.get(change.page, Standing()), weigh_change(change, bound))
        standings[change.page] = standing
        views = change.views[1]
        if standing.state is State.SUSPECTED or standing.state is State.CONFIRMED:
            found.suspected.setdefault(change.page, views)
        if standing.state is State.CONFIRMED:
            found.confirmed.setdefault(change.page, views)
        if change.difference is not None:
            n, m = change.views
            found.scores[change.page] = (change.difference.rank_z, n * m / (n + m))


def _compare(base: Arrived, head: Arrived, *, by_page: bool) -> Comparison:
    return compare(
        base.sample(),
        head.sample(),
        known=(base.known(by_page=by_page), head.known(by_page=by_page)),
        by_page=by_page,
    )
