"""One release, watched as alerts it: the verdict's looks, bounds and family, and alerts's states."""

from dataclasses import dataclass, field
from typing import Final

from benchmarks.alerts.arrivals import HOURS, Arrived
from profcore.alerts.states import Evidence, Standing, State, step, step_accepted, weigh_change
from profcore.alerts.usage import is_used
from profcore.stats.comparison import Comparison, compare
from profcore.stats.verdict.judgement import Change, judge
from profcore.stats.verdict.plan import LookPoint, bound_of_newest, is_another_look

PLAN_DAYS: Final = 14
STEPS: Final = 10


@dataclass(slots=True, kw_only=True)
class Watched:
    """What became of a release. `suspected` and `confirmed` have the views of each page when it was first so.

    With `accepts`, whatever is confirmed is accepted at once: `accepted` has its ms per view, and `repeated` the pages
    that were confirmed once more. The key None is all pages together.
    """

    looks: int = 0
    suspected: dict[str | None, int] = field(default_factory=dict)
    confirmed: dict[str | None, int] = field(default_factory=dict)
    accepts: bool = False
    accepted: dict[str | None, float] = field(default_factory=dict)
    repeated: set[str | None] = field(default_factory=set)

    def step(self, standing: Standing, change: Change, bound: float) -> Standing:
        """Returns the standing of a page after one more look, and notes what is confirmed."""
        evidence = weigh_change(change)
        after = self._keep_accepted(standing, evidence, change) or step(standing, evidence)
        if after.state is not State.CONFIRMED:
            return after
        if change.page in self.accepted:
            self.repeated.add(change.page)
        self.confirmed.setdefault(change.page, change.views[1])
        if not self.accepts or change.difference is None:
            return after
        self.accepted[change.page] = change.difference.delta_ms
        return Standing(State.RESOLVED)

    def _keep_accepted(self, standing: Standing, evidence: Evidence, change: Change) -> Standing | None:
        difference = change.difference
        low = difference.ci95.low if difference is not None and difference.ci95 is not None else None
        return step_accepted(standing, evidence, low=low, accepted=self.accepted.get(change.page), limit=0.0)


def alert_release(
    base: Arrived, head: Arrived, *, days: int, until: str | None = None, accepts: bool = False
) -> Watched:
    """Alerts a release for some days, once an hour, or until a page is confirmed; `base` is complete."""
    watched, points = Watched(accepts=accepts), list[LookPoint]()
    standings: dict[str | None, Standing] = {}
    day_before = int((base.hour >= base.hour.max() - HOURS).sum()) if base.views else 0
    for hour in range(1, days * HOURS + 1):
        now = head.until(hour)
        if not now.views:
            continue
        step_of_time = int(hour / HOURS / PLAN_DAYS * STEPS)
        reached = min(max(now.views / base.views, step_of_time / STEPS), 1.0)
        point = LookPoint(reached, base.views * now.views / (base.views + now.views))
        of_all = round(day_before * (1 + hour / HOURS))  # since the day before it came, at midnight
        if not is_used(now.views, of_all) or not is_another_look(points, point):
            continue
        points.append(point)
        _look(watched, standings, base, now, bound_of_newest(points))
        watched.looks += 1
        if until is not None and until in watched.confirmed:
            break
    return watched


def _look(watched: Watched, standings: dict[str | None, Standing], base: Arrived, head: Arrived, bound: float) -> None:
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
        standing = watched.step(standings.get(change.page, Standing()), change, bound)
        standings[change.page] = standing
        if standing.state is State.SUSPECTED or change.page in watched.confirmed:
            watched.suspected.setdefault(change.page, change.views[1])


def _compare(base: Arrived, head: Arrived, *, by_page: bool) -> Comparison:
    return compare(
        base.sample(),
        head.sample(),
        known=(base.known(by_page=by_page), head.known(by_page=by_page)),
        by_page=by_page,
    )
