"""What ends alarms of releases that newer ones replaced: a faster one, or they are no longer evaluated."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from alerts.changes import Cause, end_of, finding_of, select_states, subject_of, write_standing
from alerts.models import AlertRule, AlertState, StateChange
from profcore.alerts.states import State
from profcore.stats.verdict.judgement import Change

# A newer release that takes back this part of a slowdown ends it.
RECOVERED: Final = 0.5
# Suspicions that one evaluation ends because their releases are not watched any more: some statements for each. The
# next evaluations end the others.
MAX_UNWATCHED: Final = 100


def end_recovered(
    alert: AlertRule, faster: Sequence[Change], base: str, head: str, *, older: Collection[str], now: datetime
) -> None:
    """Ends slowdowns of pages of which a release takes back enough. One statement, and those that write.

    `faster` are its changes from its base. A release before the base is that much slower than it, less what the base
    and others in between had added: what they made slower is no gain. So a release that is faster than its base only
    ends no alarm of an older one.
    """
    rows = {(row.release, row.page): row for row in select_states(alert).values()} if faster else {}
    for change in faster:
        gained = -change.difference.delta_ms if change.difference else 0.0
        for row in _list_chain(rows, base, change.page, older):
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


def _list_chain(
    rows: Mapping[tuple[str, str | None], AlertState], base: str, page: str | None, older: Collection[str]
) -> Iterator[AlertState]:
    """Yields the states of a page in a release, in the release that it was compared with, and so on.

    It ends where a release has no state: nothing is known then of those before it.
    """
    left, release = set(older), base
    while release in left and (row := rows.get((release, page))) is not None:
        yield row
        left.remove(release)
        release = row.base_release


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
