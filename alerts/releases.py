"""The release alert: each new release against the one before, page by page, at the looks of the verdict.

The alert alone keeps looks. Others who ask about two releases see the verdict at the look that the alert took
last, or at the one that is due (`aggregate.selectors.verdict.looks`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.conf import settings

from aggregate.models import VerdictLook
from aggregate.selectors.project.announcements import select_said_rollbacks
from aggregate.selectors.project.pages import ReleaseRow, select_releases
from aggregate.selectors.slice.read_context import read_context
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.verdict.looks import find_look
from aggregate.selectors.verdict.page_changes import sum_pages
from aggregate.selectors.verdict.verdict import Verdict, select_verdict
from alerts.auto_resolve.recoveries import end_recovered, end_unwatched, select_recovered
from alerts.auto_resolve.usage import follow_usage, is_older
from alerts.bases import choose_base, select_rolled_back
from alerts.changes import Cause, select_states, step_state, write_standing
from alerts.models import AlertRule, AlertState
from alerts.subjects import Finding, Subject
from profcore.alerts.states import CONFIRM_FACTOR, State, weigh_change
from profcore.stats.verdict.judgement import Change
from profcore.times import start_of_day


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
    for base, head in pick_pairs(alert.project_id, states, releases, rows, watched, said=said, rolled_back=rolled_back):
        (seen,) = (row for row in releases if row.release == head)
        older = {row.release for row in releases if is_older(row, seen)}
        _look_at(alert, base, head, gone, rolled_back, older=older, now=now)
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
) -> Iterator[tuple[str, str]]:
    """Yields (base, head) of the releases that are watched, the oldest head first.

    `states` are those of the alert, and `rows` those of the `releases` that count. A head keeps the base that it was
    first compared with: a release that gets its views late is another question. Only a base that was rolled back is
    left, unless something is open against it: a repaired release is compared with the one that users have again. Of
    `said`, those that were said to be rolled back, nothing is judged any more. `rolled_back` has these and those that
    are gone.
    """
    watched_states = sorted((row for row in states if row.release in watched), key=lambda row: row.seen_at)
    kept = {row.release: row.base_release for row in watched_states}
    opened = {row.release for row in watched_states if State(row.state).is_open}
    known, comparable = {row.release for row in releases}, [row.release for row in rows]
    for head in reversed(watched):
        if head in said:
            continue
        first, older = kept.get(head), comparable[comparable.index(head) + 1 :]
        if first in known and (first not in rolled_back or head in opened):
            yield first, head
        elif older:
            yield choose_base(project_id, head, older, releases, rolled_back).release, head


def _look_at(
    alert: AlertRule,
    base: str,
    head: str,
    gone: Collection[bytes],
    rolled_back: Collection[str],
    *,
    older: Collection[str],
    now: datetime,
) -> None:
    """Judges a release where another look is due, except states that ended because it is gone, or mended.

    Releases that were `rolled_back` to be rolled back end nothing any more. The head ends slowdowns of `older` ones.
    """
    whole = Slice(project_id=alert.project_id)
    sides = replace(whole, releases=(base,)), replace(whole, releases=(head,))
    known = begin_anew(alert, base, select_states(alert, release=head), gone)
    sums = sum_pages(*sides)
    look = find_look(*sides, sums.views, now=now)
    if look is None or look.number <= _find_last_look(known, base):
        return
    over = {*gone, *select_recovered(alert, known, rolled_back)}
    pages = [*sums.shared, None] if len(sums.shared) != 1 else sums.shared
    if all(Subject(release=head, page=page).key in over for page in pages):
        return  # no state would keep the look, and it would be asked for at each evaluation
    verdict = select_verdict(*sides, now=now, followed=list_open_pages(known.values()))
    keep_look(verdict, now)
    changes = list_changes(verdict)
    for change in changes:
        if Subject(release=head, page=change.page).key not in over:
            _weigh(alert, verdict, change, known, now)
    faster = [change for change in changes if is_certainly_faster(change, verdict.judgement.bound)]
    end_recovered(alert, faster, base, head, older=older, now=now)


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
    return [row.page for row in opened if row.page is not None]


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


def list_changes(verdict: Verdict) -> list[Change]:
    """Returns the changes of a verdict that have states: of each page, and of all together if they are several."""
    judgement = verdict.judgement
    return [*judgement.pages, judgement.whole] if len(judgement.pages) != 1 else [*judgement.pages]


def is_certainly_faster(change: Change, bound: float) -> bool:
    """Returns whether a page got faster, as certain as a slowdown has to be to be confirmed."""
    difference = change.difference
    return change.state == "faster" and difference is not None and difference.q < bound / CONFIRM_FACTOR


def _weigh(
    alert: AlertRule, verdict: Verdict, change: Change, known: Mapping[bytes, AlertState], now: datetime
) -> None:
    subject = Subject(release=verdict.head.releases[0], page=change.page)
    before = known.get(subject.key)
    evidence = weigh_change(change, verdict.judgement.bound)
    standing, finding = step_state(before, evidence, describe(verdict, change))
    if before is None and standing.state is State.UNKNOWN:
        return
    write_standing(alert, subject, before, standing, finding, at=now, cause=Cause.LOOK)


def describe(verdict: Verdict, change: Change) -> Finding:
    """Returns what a look found of a page."""
    difference = change.difference
    is_leading = change is verdict.leading or change.page == verdict.leading.page
    return Finding(
        views=change.views[1],
        base_release=verdict.base.releases[0],
        base_views=change.views[0],
        look=verdict.look.number if verdict.look else None,
        value=difference.delta_ms if difference else None,
        low=difference.ci95.low if difference and difference.ci95 else None,
        high=difference.ci95.high if difference and difference.ci95 else None,
        relative=difference.relative if difference else None,
        q=difference.q if difference else None,
        bound=verdict.judgement.bound,
        culprit=verdict.culprits[0].func.label if is_leading and verdict.culprits else None,
    )
