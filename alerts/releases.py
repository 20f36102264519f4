"""The release alert: each new release against the one before, page by page, at the looks of the verdict.

The alert alone keeps looks. Others who ask about two releases see the verdict at the look that the alert took
last, or at the one that is due (`aggregate.selectors.verdict.looks`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from aggregate.label_models import ReleaseScript
from aggregate.models import VerdictLook
from aggregate.selectors.project.announcements import select_said_rollbacks
from aggregate.selectors.project.pages import ReleaseRow, select_releases
from aggregate.selectors.slice.read_context import read_context
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.verdict.looks import find_look
from aggregate.selectors.verdict.page_changes import sum_pages
from aggregate.selectors.verdict.verdict import Verdict, name_function, select_verdict
from alerts.auto_resolve.recoveries import Gain, end_recovered, end_unwatched, select_recovered
from alerts.auto_resolve.usage import follow_usage, is_older
from alerts.bases import choose_base, select_rolled_back
from alerts.changes import Cause, select_states, standing_of, step_state, subject_of, write_standing
from alerts.models import AlertRule, AlertState
from alerts.subjects import Finding, Subject
from profcore.alerts.evidence import SubjectName, Weighed, weigh_judgement
from profcore.alerts.states import Standing, State
from profcore.alerts.usage import is_short_lived
from profcore.stats.verdict.certainty import CONFIRM_FACTOR
from profcore.stats.verdict.incidents import FunctionChange
from profcore.stats.verdict.judgement import Change
from profcore.times import start_of_day

# A look waits so long for the names of a release's functions: reading its maps takes seconds.
NAMES_WAIT: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two releases that are compared. `skipped` is the head's first base, if this is its second one."""

    base: str
    head: str
    skipped: str = ""

    def subject(self, page: str | None, name: str = "") -> Subject:
        """Returns a page or function of the head as the subject of a state."""
        return Subject(release=self.head, page=page, name=name, base=self.base if self.skipped else "")


@read_context()
def evaluate_releases(alert: AlertRule, now: datetime) -> None:
    """Looks at the newest releases, where another look is due. Call it in a transaction."""
    releases = select_recent(alert.project_id, now)
    said = select_said_rollbacks(alert.project_id, now)
    gone = follow_usage(alert, releases, said, now)
    rolled_back = select_rolled_back(alert.project_id, said, now)
    states = select_states(alert).values()
    kept = {row.release for row in states}
    rows = [row for row in releases if row.is_comparable or (row.release in kept and row.is_comparable_still)]
    watched = pick_watched(rows, kept, now)
    for pair in pick_pairs(alert.project_id, states, releases, rows, watched, said=said, rolled_back=rolled_back):
        (seen,) = (row for row in releases if row.release == pair.head)
        older = {row.release for row in releases if is_older(row, seen)}
        _look_at(alert, pair, gone, rolled_back, older=older, now=now)
        if second := find_second_base(pair, rows, rolled_back):
            _look_at(alert, second, gone, rolled_back, older=older, now=now)
    end_unwatched(alert, watched, now)


def select_recent(project_id: int, now: datetime) -> Sequence[ReleaseRow]:
    """Returns the project's releases with the page views of the days for which a release is watched, and of one more.

    One statement. If only one release counts then, and it is new, all page views are counted by a second one: no one
    may have visited the site before it for a month.
    """
    since = start_of_day(now) - timedelta(days=settings.ALERTS_RELEASE_DAYS + 1)
    releases = select_releases(project_id, since=since)
    rows = [row for row in releases if row.is_comparable]
    is_alone = len(rows) == 1 and rows[0].first_seen_at >= since and any(is_older(row, rows[0]) for row in releases)
    return select_releases(project_id) if is_alone else releases


def pick_watched(rows: Sequence[ReleaseRow], kept: Collection[str], now: datetime) -> list[str]:
    """Returns the releases that are watched, the newest first: the newest of the last days.

    Each has one before it, or is among those `kept`, which have a base already: that may have had no visits for weeks.
    As many of those that were announced with a token are among them: what others make up does not hide these.
    """
    since = now - timedelta(days=settings.ALERTS_RELEASE_DAYS)
    first = rows[-1:] if rows and rows[-1].release in kept else []
    recent = [row for row in [*rows[:-1], *first] if row.first_seen_at >= since]
    announced = [row for row in recent if row.is_announced]
    chosen = {row.release for rows_ in (recent, announced) for row in rows_[: settings.ALERTS_RELEASES]}
    return [row.release for row in recent if row.release in chosen]


def pick_pairs(
    project_id: int,
    states: Iterable[AlertState],
    releases: Sequence[ReleaseRow],
    rows: Sequence[ReleaseRow],
    watched: Sequence[str],
    *,
    said: Mapping[str, datetime],
    rolled_back: Mapping[str, datetime],
) -> Iterator[Pair]:
    """Yields the pairs of the releases that are watched, the oldest head first.

    `states` are those of the alert, and `rows` those of the `releases` that count. A head keeps the base that it was
    first compared with: a release that gets its views late is another question. Only a base that was rolled back is
    left, unless something is open against it: a repaired release is compared with the one that users have again. Of
    `said`, those that were said to be rolled back, nothing is judged any more. `rolled_back` has these and those that
    are gone.
    """
    watched_states = sorted((row for row in states if row.release in watched), key=lambda row: row.seen_at)
    kept = {row.release: row.base_release for row in watched_states if not subject_of(row).base}
    opened = {row.release for row in watched_states if State(row.state).is_open}
    known, comparable = {row.release for row in releases}, [row.release for row in rows]
    for head in reversed(watched):
        if head in said:
            continue
        first, older = kept.get(head), comparable[comparable.index(head) + 1 :]
        if first in known and (first not in rolled_back or head in opened):
            yield Pair(first, head)
        elif older:
            yield Pair(choose_base(project_id, head, older, releases, rolled_back).release, head)


def find_second_base(pair: Pair, rows: Sequence[ReleaseRow], rolled_back: Collection[str]) -> Pair | None:
    """Returns a head with the release before its base, if the base had too few page views to be measured itself.

    Nobody would be told of a slowdown that came with such a base: it has too few views, and the next release, which is
    as slow, does not differ from it.
    """
    views = {row.release: row.views for row in rows if row.release not in rolled_back or row.release == pair.base}
    ordered = [*views]
    if pair.base not in views or pair.base == ordered[-1]:
        return None
    before = ordered[ordered.index(pair.base) + 1]
    is_short = is_short_lived(views[pair.base], views[before])
    return Pair(before, pair.head, skipped=pair.base) if is_short else None


def _look_at(
    alert: AlertRule,
    pair: Pair,
    gone: Collection[bytes],
    rolled_back: Collection[str],
    *,
    older: Collection[str],
    now: datetime,
) -> None:
    """Judges a release where another look is due, except states that ended because it is gone, or mended.

    Releases that were `rolled_back` to be rolled back end nothing any more. The head ends slowdowns of `older` ones.
    """
    base, head = pair.base, pair.head
    whole = Slice(project_id=alert.project_id)
    sides = replace(whole, releases=(base,)), replace(whole, releases=(head,))
    states = select_states(alert, release=head)
    of_pair = {key: row for key, row in states.items() if bool(subject_of(row).base) == bool(pair.skipped)}
    known = begin_anew(alert, base, of_pair, gone)
    sums = sum_pages(*sides)
    look = find_look(*sides, sums.views, now=now)
    if look is None or look.number <= _find_last_look(known, base) or are_names_awaited(pair, alert.project_id, now):
        return
    over = {*gone, *select_recovered(alert, known, rolled_back)}
    pages = [*sums.shared, None] if len(sums.shared) != 1 else sums.shared
    if all(pair.subject(page).key in over for page in pages):
        return  # no state would keep the look, and it would be asked for at each evaluation
    functions = list_followed_functions(alert, head)
    verdict = select_verdict(*sides, now=now, followed=list_open_pages(known.values()), followed_functions=functions)
    keep_look(verdict, now)
    elsewhere = _list_told(alert, pair) if pair.skipped else ()
    weigh_verdict(alert, verdict, pair, known, over, elsewhere=elsewhere, now=now)
    if not pair.skipped:
        end_recovered(alert, list_gains(verdict), base, head, older=older, now=now)


def are_names_awaited(pair: Pair, project_id: int, now: datetime) -> bool:
    """Returns whether source maps of either release wait to be read, for no longer than `NAMES_WAIT`. One statement.

    Until then a function that has a name on one side only seems to be new, or gone.
    """
    waiting = ReleaseScript.objects.filter(project_id=project_id, release__in=(pair.base, pair.head), failure=None)
    return waiting.filter(map_id__isnull=False, pending_at__gte=now - NAMES_WAIT).exists()


def _list_told(alert: AlertRule, pair: Pair) -> set[SubjectName]:
    """Returns the pages and functions that are told already: of the head by its first base, or of the release between.

    One statement.
    """
    rows = select_states(alert, release__in=(pair.head, pair.skipped)).values()
    told = [row for row in rows if _is_told(standing_of(row)) and not subject_of(row).base]
    return {subject_of(row).within_release for row in told}


def keep_look(verdict: Verdict, now: datetime) -> None:
    """Keeps the look of a verdict, if it is a new one and the verdict has an answer."""
    look = verdict.look
    if look is None or not look.is_new or not verdict.has_answer:
        return
    VerdictLook.objects.create(
        project_id=verdict.head.project_id,
        question=look.question,
        number=look.number,
        looked_at=now,
        reached=look.reached,
        information=look.information,
        bound=look.bound,
    )


def list_open_pages(rows: Iterable[AlertState]) -> list[str]:
    """Returns the pages with an open state, the longest open first.

    They are compared at each look: an alarm of a page that is not could never end.
    """
    opened = [row for row in rows if State(row.state).is_open and row.page is not None]
    opened.sort(key=lambda row: (row.began_at or row.since_at, row.page or ""))
    return list(dict.fromkeys(row.page for row in opened if row.page is not None))


def list_followed_functions(alert: AlertRule, head: str) -> set[str]:
    """Returns the functions with a state of a release, or an open one of another that it may end. One statement."""
    rows = select_states(alert).values()
    return {row.subject for row in rows if row.subject and (row.release == head or State(row.state).is_open)}


def _find_last_look(known: Mapping[bytes, AlertState], base: str) -> int:
    """Returns the last look at a release and this base; 0 without one. What ended may be about another base."""
    return max((row.look or 0 for row in known.values() if row.base_release == base), default=0)


def begin_anew(
    alert: AlertRule, base: str, known: Mapping[bytes, AlertState], gone: Collection[bytes]
) -> Mapping[bytes, AlertState]:
    """Returns the states of a release that are about this base, and deletes others: it is another question.

    What is open stays, and so does what ended because the release is gone.
    """
    old = [
        key
        for key, row in known.items()
        if row.base_release != base and not State(row.state).is_open and key not in gone
    ]
    if old:
        AlertState.objects.filter(project_id=alert.project_id, alert_id=alert.id, subject_key__in=old).delete()
    return {key: row for key, row in known.items() if key not in old}


def list_gains(verdict: Verdict) -> list[Gain]:
    """Returns the pages and functions that got faster, as certain as a slowdown has to be to be confirmed."""
    most = verdict.judgement.bound / CONFIRM_FACTOR
    pages = [
        Gain(change.page, "", -change.difference.delta_ms)
        for change in verdict.judgement.changes
        if change.state == "faster" and change.difference is not None and change.difference.q < most
    ]
    functions = [
        Gain(culprit.change.page, name, -culprit.difference.delta_ms)
        for name, culprit in verdict.followed.items()
        if culprit.difference.q < most and culprit.difference.is_significant and culprit.difference.delta_ms < 0
    ]
    return [*pages, *functions]


def weigh_verdict(
    alert: AlertRule,
    verdict: Verdict,
    pair: Pair,
    known: Mapping[bytes, AlertState],
    over: Collection[bytes],
    *,
    elsewhere: Collection[SubjectName],
    now: datetime,
) -> None:
    """Keeps what a look says of each page and function (`profcore.alerts.evidence.weigh_judgement`).

    What is told `elsewhere`, pages and functions, is told no more. States in `over` have ended for good.
    """
    names = {culprit.change.func_id: name for name, culprit in verdict.followed.items()}
    names |= {culprit.change.func_id: name_function(culprit.func) for culprit in verdict.incidents}
    told = {subject_of(row).within_release for key, row in known.items() if key in over or _is_told(standing_of(row))}
    told |= {*elsewhere}

    def weigh(weighed: Weighed) -> bool:
        subject = pair.subject(weighed.page, weighed.name)
        before = known.get(subject.key)
        if before is None and weighed.subject in told:
            return True
        finding = _describe(verdict, weighed)
        standing, kept = step_state(before, weighed.evidence, finding)
        if before is None and standing.state in (State.UNKNOWN, State.OK) and subject.name:
            return False  # a function that nothing is wrong with has no state
        if subject.key in over or (before is None and standing.state is State.UNKNOWN):
            return False
        write_standing(alert, subject, before, standing, kept, at=now, cause=Cause.LOOK)
        return _is_told(standing)

    functions = {row.subject: row.page for row in known.values() if row.subject}
    weigh_judgement(verdict.judgement, names, functions, told, weigh)


def _is_told(standing: Standing) -> bool:
    return standing.state.is_open or standing.is_accepted


def _describe(verdict: Verdict, weighed: Weighed) -> Finding:
    """Returns what a look found of a page or function; without figures if there are none."""
    page, change = weighed.page, weighed.change
    difference = change.difference if change else None
    views = next((change.views for change in verdict.judgement.changes if change.page == page), (0, 0))
    grown = [culprit for culprit in verdict.incidents if page in (None, *culprit.change.pages)]
    if isinstance(change, FunctionChange):
        grown = [culprit for culprit in grown if culprit.change.func_id == change.func_id]
    first = grown[0] if grown else None
    is_outside = first is not None and first.from_outside
    if isinstance(change, Change):
        is_outside = is_outside and change.is_mainly([first.change] if first else ())
    interval = difference.ci95 if difference else None
    return Finding(
        views=views[1],
        base_release=verdict.base.releases[0],
        base_views=views[0],
        look=verdict.look.number if verdict.look else None,
        value=difference.delta_ms if difference else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        relative=difference.relative if difference else None,
        q=difference.q if difference else None,
        bound=verdict.judgement.bound,
        culprit=first.func.label if first and not weighed.name else None,
        party=first.party if first and is_outside else None,
    )
