"""What ends alarms of releases that newer ones replaced: a faster one, or they are no longer evaluated."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from alerts.changes import Cause, end_of, finding_of, select_states, subject_of, write_standing
from alerts.models import AlertRule, AlertState, StateChange
from profcore.alerts.states import State

# A newer release that takes back this part of a slowdown ends it.
RECOVERED: Final = 0.5
# Suspicions that one evaluation ends because their releases are not watched any more: some statements for each. The
# next evaluations end the others.
MAX_UNWATCHED: Final = 100


class Gain(NamedTuple):
    """What a release takes less than its base on a page (None: on all), or by a function with a name, ms per view."""

    page: str | None
    name: str
    ms: float


def end_recovered(
    alert: AlertRule, gains: Sequence[Gain], base: str, head: str, *, older: Collection[str], now: datetime
) -> None:
    """Ends slowdowns of pages and functions of which a release takes back enough. One statement, and those that write.

    `gains` are from its base. A release before the base is that much slower than it, less what the base
    and others in between had added: what they made slower is no gain. So a release that is faster than its base only
    ends no alarm of an older one.
    """
    rows = [*select_states(alert).values()] if gains else []
    row_of = {(row.release, _thing_of(row.page, row.subject)): row for row in rows}
    # A function that nothing is wrong with has no state: what its release was compared with, others say.
    base_of = {row.release: row.base_release for row in rows}
    for page, name, ms in gains:
        gained, thing = ms, _thing_of(page, name)
        for row in _list_chain(row_of, base, thing, older, base_of if name else {}):
            if row.value is None or gained <= 0:
                break
            if State(row.state).is_open and gained >= RECOVERED * row.value:
                write_standing(
                    alert,
                    subject_of(row),
                    row,
                    end_of(row),
                    finding_of(row),
                    at=now,
                    cause=Cause.NEWER_RELEASE,
                    about_release=head,
                )
            gained -= max(row.value, 0.0)


def _thing_of(page: str | None, name: str) -> tuple[str | None, str]:
    """Returns what a state is about in any release: a function by its name alone."""
    return (None if name else page), name


def _list_chain(
    rows: Mapping[tuple[str, tuple[str | None, str]], AlertState],
    base: str,
    thing: tuple[str | None, str],
    older: Collection[str],
    base_of: Mapping[str, str],
) -> Iterator[AlertState]:
    """Yields the states of a page or function in a release, in the release that it was compared with, and so on.

    It ends where a release has no state, and is not in `base_of`: nothing is known then of those before it.
    """
    left, release = set(older), base
    while release in left:
        row = rows.get((release, thing))
        if row is not None:
            yield row
        elif release not in base_of:
            return
        left.remove(release)
        release = row.base_release if row is not None else base_of[release]


def end_unwatched(alert: AlertRule, watched: Collection[str], now: datetime) -> None:
    """Ends suspicions about releases that are not watched any more: no look will say more about them.

    What is confirmed stays. One statement, and those that write.
    """
    rows = select_states(alert, state=State.SUSPECTED.value).values()
    left = sorted((row for row in rows if row.release not in watched), key=lambda row: row.seen_at)
    for row in left[:MAX_UNWATCHED]:
        write_standing(alert, subject_of(row), row, end_of(row), finding_of(row), at=now, cause=Cause.UNWATCHED)


def select_recovered(alert: AlertRule, known: Mapping[bytes, AlertState], rolled_back: Collection[str]) -> set[bytes]:
    """Returns the states that a newer release ended, by key: the old one is as slow as ever, and it is over.

    Releases that were `rolled_back` to be rolled back end nothing any more. Up to one statement.
    """
    ended = {key: row.since_at for key, row in known.items() if State(row.state) in (State.OK, State.RESOLVED)}
    if not ended:
        return set()
    ends = StateChange.objects.filter(
        project_id=alert.project_id, alert_id=alert.id, cause=Cause.NEWER_RELEASE, subject_key__in=list(ended)
    )
    changes = ends.exclude(about_release__in=list(rolled_back)).values_list("subject_key", "at")
    return {bytes(key) for key, at in changes if ended[bytes(key)] == at}
