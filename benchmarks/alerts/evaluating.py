"""One release, watched as the release alert does it: the verdict's looks, bounds and family, and the alerts' states.

`alerts.releases.weigh_verdict` writes rows; here the same rules keep the states in memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from benchmarks.alerts.arrivals import HOURS, Arrived, PageViews
from benchmarks.statistics.population import Function
from profcore.alerts.states import Evidence, Standing, State, step, weigh_change, weigh_function
from profcore.alerts.usage import is_used
from profcore.stats.comparison import Comparison, compare
from profcore.stats.culprits import FindCallers, find_callers
from profcore.stats.joining import join_columns
from profcore.stats.verdict.family import PageSides, read_page
from profcore.stats.verdict.incidents import Code, FunctionChange
from profcore.stats.verdict.judgement import Change, Judgement, judge
from profcore.stats.verdict.plan import LookPoint, bound_of_newest, is_another_look
from profcore.stats.views import ViewSample, sample_of_times
from profcore.sums.calltree import merge_call_trees

PLAN_DAYS: Final = 14
STEPS: Final = 10
Subject = str | int | None  # a page, a function by its number, or all pages together


@dataclass(frozen=True, slots=True)
class Told:
    """What a message would say: of which page, by which function, and after how many views of the page."""

    page: str | None
    func: int | None
    views: int


@dataclass(slots=True, kw_only=True)
class Watched:
    """What became of a release: what was suspected and confirmed first, by subject."""

    looks: int = 0
    suspected: dict[Subject, Told] = field(default_factory=dict)
    confirmed: dict[Subject, Told] = field(default_factory=dict)
    standings: dict[Subject, Standing] = field(default_factory=dict)

    def is_told(self, subject: Subject) -> bool:
        """Returns whether someone was told of a subject."""
        return self.standings.get(subject, Standing()).state.is_open

    def weigh(self, subject: Subject, evidence: Evidence, told: Told) -> None:
        """Takes one more look at a subject into account."""
        after = self.standings[subject] = step(self.standings.get(subject, Standing()), evidence)
        if after.state.is_open:
            self.suspected.setdefault(subject, told)
        if after.state is State.CONFIRMED:
            self.confirmed.setdefault(subject, told)


def alert_release(base: Arrived, head: Arrived, code: Code, *, days: int, until: str | None = None) -> Watched:
    """Watches a release for some days, once an hour, or until something is confirmed of a page; `base` is complete."""
    watched, points = Watched(), list[LookPoint]()
    last = max((int(page.hour.max()) for page in base.pages if page.views), default=0)
    day_before = sum(int((page.hour > last - HOURS).sum()) for page in base.pages)
    known = [page.sample(base.most) if page.views else None for page in base.pages]
    start = min((int(page.hour.min()) for page in head.pages if page.views), default=0) // HOURS * HOURS
    for hour in range(1, days * HOURS + 1):
        now = head.until(start + hour)
        if not now.views or not base.views:
            continue
        step_of_time = int(hour / HOURS / PLAN_DAYS * STEPS)
        reached = min(max(now.views / base.views, step_of_time / STEPS), 1.0)
        point = LookPoint(reached, base.views * now.views / (base.views + now.views))
        of_all = round(day_before * (1 + hour / HOURS))  # since the day before it came, at midnight
        if not is_used(now.views, of_all) or not is_another_look(points, point):
            continue
        points.append(point)
        watched.looks += 1
        judgement = judge_sides(base, now, known, code, bound_of_newest(points), followed=watched.standings)
        if judgement is not None:
            weigh_judgement(watched, judgement)
        if until is not None and any(told.page == until for told in watched.confirmed.values()):
            break
    return watched


def judge_sides(
    base: Arrived,
    head: Arrived,
    known: Sequence[ViewSample | None],
    code: Code,
    bound: float,
    *,
    followed: Mapping[Subject, Standing] | None = None,
) -> Judgement | None:
    """Returns the judgement on two sides; `known` has the samples of the base. None without a common page."""
    pages: dict[str, Comparison] = {}
    read: list[PageSides] = []
    samples: list[tuple[ViewSample, ViewSample]] = []
    shared: list[tuple[PageViews, PageViews]] = []
    for before, after, sample in zip(base.pages, head.pages, known, strict=True):
        if sample is None or not after.views:
            continue
        shared.append((before, after))
        sides = sample, after.sample(head.most)
        samples.append(sides)
        times = [sample_of_times(side.columns, population=side.population) for side in sides]
        pages[before.recorded.name] = compare(*times, known=(before.known(), after.known()))
        if (page := read_page(before.recorded.name, *sides)) is not None:
            read.append(page)
    if not pages:
        return None
    together = next(iter(pages.values()))
    if len(pages) > 1:
        joined = [join_columns([pair[at].columns for pair in samples]) for at in (0, 1)]
        sums = [dict(chain.from_iterable(row[at].known().items() for row in shared)) for at in (0, 1)]
        counts = [sum(row[at].views for row in shared) for at in (0, 1)]
        whole = [sample_of_times(columns, population=count) for columns, count in zip(joined, counts, strict=True)]
        together = compare(whole[0], whole[1], known=(sums[0], sums[1]), by_page=True)
    wanted = {subject for subject in followed or () if isinstance(subject, int)}
    return judge(together, pages, sides=read, code=code, followed=wanted, bound=bound)


def weigh_judgement(watched: Watched, judgement: Judgement) -> None:
    """Takes a look into account: of functions first, then of pages, at last of all pages together.

    An incident is told once, as `alerts.releases.weigh_verdict` says it.
    """
    incidents = {change.func_id: change for change in reversed(judgement.incidents)}
    views = {change.page: change.views[1] for change in judgement.pages}
    before = {subject for subject in watched.standings if watched.is_told(subject)}

    def is_told(subject: Subject) -> bool:
        return subject in before or watched.is_told(subject)

    functions = {subject for subject in watched.standings if isinstance(subject, int)}
    for func in sorted({*incidents, *functions}):
        function: FunctionChange | None = incidents.get(func) or judgement.followed.get(func)
        if not is_told(func) and (function is None or is_told(function.page)):
            continue
        evidence = Evidence.QUIET
        if function is not None:
            evidence = weigh_function(function, is_clear=func in incidents)
        page = function.page if function else None
        watched.weigh(func, evidence, Told(page, func, views.get(page or "", 0)))
    for change in [*judgement.pages, *([judgement.whole] if len(judgement.pages) > 1 else [])]:
        if not is_told(change.page) and _is_told_already(change, incidents, [*filter(is_told, watched.standings)]):
            continue
        slower = change.functions.slower
        what = Told(change.page, slower[0].func_id if slower else None, change.views[1])
        watched.weigh(change.page, weigh_change(change), what)


def _is_told_already(change: Change, incidents: Mapping[int, FunctionChange], told: Sequence[Subject]) -> bool:
    if change.page is None:
        return bool(told)
    return change.is_mainly(function for func, function in incidents.items() if func in told)


def describe_code(head: Arrived, functions: Sequence[Function], new: Mapping[int, str]) -> Code:
    """Returns the recorded call trees of the head and the functions' files; `new` has the files of new functions."""
    trees = {page.recorded.name: page.recorded.tree for page in head.pages}
    numbers = {number: (number,) for number in range(len(functions))}
    files = dict(enumerate(function.file for function in functions))

    def read_callers(pages: Sequence[str]) -> FindCallers:
        tree = merge_call_trees(trees[page] for page in pages)
        return lambda hidden, seen: find_callers(
            tree.prefix, tree.func, tree.self_us, numbers, hidden=hidden, seen=seen
        )

    return Code(read_callers=read_callers, files=files | dict(new))
