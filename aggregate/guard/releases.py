"""The release watch: each new release against the one before, page by page, at the looks of the verdict.

The looks are those of everybody who asks about these two releases (`aggregate.selectors.verdict.looks`): whether a
person or the watch asks, a question spends its error once.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from aggregate.guard.changes import Cause, found_of, select_states, step_state, subject_of, write_standing
from aggregate.guard.rollbacks import choose_base, select_rolled_back
from aggregate.guard.subjects import Found, Subject
from aggregate.guard.usage import follow_usage, is_older
from aggregate.guard_models import StateChange, Watch, WatchState
from aggregate.selectors.project.announcements import select_said_rollbacks
from aggregate.selectors.project.pages import ReleaseRow, select_releases
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.verdict.looks import find_look
from aggregate.selectors.verdict.page_changes import sum_pages
from aggregate.selectors.verdict.verdict import Verdict, select_verdict
from ingest.door.groups import OTHER
from profcore.guard.states import CONFIRM_FACTOR, QUIET_TO_RESOLVE, Standing, State, weigh_change
from profcore.stats.comparison import MIN_COMPARED_VIEWS
from profcore.stats.verdict import Change

# A newer release that takes back this part of a slowdown ends it.
RECOVERED: Final = 0.5


def evaluate_releases(watch: Watch, now: datetime) -> None:
    """Looks at the newest releases, where another look is due. Call it in a transaction."""
    releases = select_releases(watch.project_id)
    said = select_said_rollbacks(watch.project_id, now)
    gone = follow_usage(watch, releases, said, now)
    told = select_rolled_back(watch.project_id, said, now)
    for base, head in pick_pairs(watch, releases, said, told, now):
        (seen,) = (row for row in releases if row.release == head)
        older = {row.release for row in releases if is_older(row, seen)}
        _look_at(watch, base, head, gone, told, older=older, now=now)


def pick_pairs(
    watch: Watch,
    releases: Sequence[ReleaseRow],
    said: Mapping[str, datetime],
    told: Mapping[str, datetime],
    now: datetime,
) -> Iterator[tuple[str, str]]:
    """Yields (base, head) of the releases that are watched, the oldest head first.

    A head keeps the base that it was first compared with: a release that gets its views late is another question.
    Only a base that was rolled back is left, unless something is open against it: a repaired release is compared with
    the one that users have again. Releases with too few views to compare are skipped, and so is "(other)". Of `said`,
    those that somebody said were rolled back, nothing is judged any more. `told` has these and those that are gone.
    """
    rows = [row for row in releases if row.views >= MIN_COMPARED_VIEWS and row.release != OTHER]
    since = now - timedelta(days=settings.GUARD_RELEASE_DAYS)
    recent = [number for number, row in enumerate(rows[:-1]) if row.first_seen_at >= since][: settings.GUARD_RELEASES]
    states = select_states(watch, release__in=[rows[number].release for number in recent]).values()
    kept = {row.release: row.base_release for row in states}
    opened = {row.release for row in states if State(row.state).is_open}
    known = {row.release for row in rows}
    for number in reversed(recent):
        head, older = rows[number].release, [row.release for row in rows[number + 1 :]]
        if head in said:
            continue
        first = kept.get(head)
        if first in known and (first not in told or head in opened):
            yield first, head
        else:
            yield choose_base(watch.project_id, head, older, releases, told).release, head


def _look_at(
    watch: Watch,
    base: str,
    head: str,
    gone: Collection[bytes],
    told: Collection[str],
    *,
    older: Collection[str],
    now: datetime,
) -> None:
    """Judges a release where another look is due, except states that ended because it is gone, or mended.

    Releases that were `told` to be rolled back mend nothing any more. The head mends slowdowns of `older` ones.
    """
    whole = Slice(project_id=watch.project_id)
    sides = replace(whole, releases=(base,)), replace(whole, releases=(head,))
    known = begin_anew(watch, base, select_states(watch, release=head), gone)
    look = find_look(*sides, sum_pages(*sides).views, now=now)
    if look is None or look.number <= max((row.look or 0 for row in known.values()), default=0):
        return
    verdict = select_verdict(*sides, now=now)
    changes = list_changes(verdict)
    over = {*gone, *select_mended(watch, known, told)}
    for change in changes:
        if Subject(release=head, page=change.page).key not in over:
            _weigh(watch, verdict, change, known, now)
    for change in changes:
        if is_certainly_faster(change, verdict.judgement.bound):
            _end_by(watch, change, older, head, now)


def select_mended(watch: Watch, known: Mapping[bytes, WatchState], told: Collection[str]) -> set[bytes]:
    """Returns the states that a newer release ended, by key: the old one is as slow as ever, and it is over.

    Up to one statement.
    """
    resolved = {key: row.since_at for key, row in known.items() if State(row.state) is State.RESOLVED}
    if not resolved:
        return set()
    ends = StateChange.objects.filter(
        project_id=watch.project_id, watch_id=watch.id, cause=Cause.NEWER_RELEASE, subject_key__in=list(resolved)
    )
    found = ends.exclude(about_release__in=list(told)).values_list("subject_key", "at")
    return {bytes(key) for key, at in found if resolved[bytes(key)] == at}


def begin_anew(
    watch: Watch, base: str, known: Mapping[bytes, WatchState], gone: Collection[bytes]
) -> Mapping[bytes, WatchState]:
    """Returns the states of a release that are about this base, and deletes others: it is another question.

    What is open stays, and so does what ended because the release is gone.
    """
    old = [
        key
        for key, row in known.items()
        if row.base_release != base and not State(row.state).is_open and key not in gone
    ]
    if old:
        WatchState.objects.filter(project_id=watch.project_id, watch_id=watch.id, subject_key__in=old).delete()
    return {key: row for key, row in known.items() if key not in old}


def list_changes(verdict: Verdict) -> list[Change]:
    """Returns the changes of a verdict that have states: of each page, and of all together if they are several."""
    judgement = verdict.judgement
    return [*judgement.pages, judgement.whole] if len(judgement.pages) != 1 else [*judgement.pages]


def is_certainly_faster(change: Change, bound: float) -> bool:
    """Tells whether a page got faster, as certain as a slowdown has to be to be confirmed."""
    found = change.difference
    return change.state == "faster" and found is not None and found.q < bound / CONFIRM_FACTOR


def _weigh(watch: Watch, verdict: Verdict, change: Change, known: Mapping[bytes, WatchState], now: datetime) -> None:
    subject = Subject(release=verdict.head.releases[0], page=change.page)
    before = known.get(subject.key)
    evidence = weigh_change(change, verdict.judgement.bound)
    standing, found = step_state(before, evidence, describe(verdict, change))
    if before is None and standing.state is State.UNKNOWN:
        return
    write_standing(watch, subject, before, standing, found, at=now, cause=Cause.LOOK)


def describe(verdict: Verdict, change: Change) -> Found:
    """Returns what a look found of a page."""
    found = change.difference
    is_leading = change is verdict.leading or change.page == verdict.leading.page
    return Found(
        views=change.views[1],
        base_release=verdict.base.releases[0],
        base_views=change.views[0],
        look=verdict.look.number if verdict.look else None,
        value=found.delta_ms if found else None,
        low=found.ci95.low if found and found.ci95 else None,
        high=found.ci95.high if found and found.ci95 else None,
        relative=found.relative if found else None,
        q=found.q if found else None,
        bound=verdict.judgement.bound,
        culprit=verdict.culprits[0].func.label if is_leading and verdict.culprits else None,
    )


def _end_by(watch: Watch, change: Change, older: Collection[str], head: str, now: datetime) -> None:
    """Ends slowdowns of a page in older releases of which this one takes back enough."""
    gained = -change.difference.delta_ms if change.difference else 0.0
    for row in select_states(watch, state=State.CONFIRMED.value).values():
        if row.release not in older or row.page != change.page or row.value is None or gained < RECOVERED * row.value:
            continue
        write_standing(
            watch,
            subject_of(row),
            row,
            Standing(State.RESOLVED, quiet=QUIET_TO_RESOLVE),
            found_of(row),
            at=now,
            cause=Cause.NEWER_RELEASE,
            about_release=head,
        )
