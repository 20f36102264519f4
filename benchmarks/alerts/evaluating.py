"""One release, watched as the release alert does it, whose rules are asked: only its states are kept in memory."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain

from benchmarks.alerts.arrivals import HOURS, Arrived, PageViews
from benchmarks.statistics.population import Function
from profcore.alerts.evidence import SubjectName, Weighed, weigh_judgement
from profcore.alerts.states import Standing, State, step
from profcore.alerts.usage import is_used
from profcore.stats.comparison import Comparison, compare
from profcore.stats.culprits import FindCallers, find_callers
from profcore.stats.joining import join_columns
from profcore.stats.verdict.family import PageSides, read_page
from profcore.stats.verdict.incidents import Code, FunctionChange
from profcore.stats.verdict.judgement import Change, Judgement, judge
from profcore.stats.verdict.plan import LookPoint, bound_of_newest, count_steps, find_point, is_another_look
from profcore.stats.views import ViewSample, sample_of_times
from profcore.sums.calltree import merge_call_trees


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
    suspected: dict[SubjectName, Told] = field(default_factory=dict)
    confirmed: dict[SubjectName, Told] = field(default_factory=dict)
    standings: dict[SubjectName, Standing] = field(default_factory=dict)
    pages: dict[str, str | None] = field(default_factory=dict)  # of the functions with a state, by their name

    def weigh_look(self, judgement: Judgement) -> None:
        """Takes one more look into account. The name of a function is its number."""
        names = {change.func_id: f"{change.func_id}" for change in (*judgement.incidents, *judgement.followed.values())}
        views = {change.page: change.views[1] for change in judgement.changes}
        told = {subject for subject, standing in self.standings.items() if standing.state.is_open}

        def weigh(weighed: Weighed) -> bool:
            subject, change = weighed.subject, weighed.change
            after = self.standings[subject] = step(self.standings.get(subject, Standing()), weighed.evidence)
            if weighed.name:
                self.pages[weighed.name] = weighed.page
            function = change if isinstance(change, FunctionChange) else None
            if isinstance(change, Change):
                function = next(iter(change.functions.slower), None)
            what = Told(weighed.page, function.func_id if function else None, views.get(weighed.page, 0))
            if after.state.is_open:
                self.suspected.setdefault(subject, what)
            if after.state is State.CONFIRMED:
                self.confirmed.setdefault(subject, what)
            return after.state.is_open

        weigh_judgement(judgement, names, self.pages, told, weigh)


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
        point = find_point(now.views, base.views, count_steps(timedelta(hours=hour)))
        of_all = round(day_before * (1 + hour / HOURS))  # since the day before it came, at midnight
        if not is_used(now.views, of_all) or not is_another_look(points, point):
            continue
        points.append(point)
        watched.looks += 1
        followed = [*map(int, watched.pages)]
        judgement = judge_sides(base, now, known, code, bound_of_newest(points), followed=followed)
        if judgement is not None:
            watched.weigh_look(judgement)
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
    followed: Collection[int] = (),
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
    return judge(together, pages, sides=read, code=code, followed=followed, bound=bound)


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

    return Code(read_callers=read_callers, find_file=(files | dict(new)).get)
