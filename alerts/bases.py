"""Which release a new one is compared with: the newest before it that was not rolled back.

Three things are known of a release: whether it was said to be rolled back; what alerts have reported
(`alerts.auto_resolve.usage`), which asks every hour about those with alarms; and whether the same rule holds of the
days on which the new release came, which is asked here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from aggregate.selectors.project.pages import ReleaseRow
from alerts.auto_resolve.usage import BEST_DAYS, is_older, measure_best, measure_span
from alerts.changes import Cause
from alerts.models import AlertState, StateChange
from alerts.rules import RELEASE_ALERT_ID
from profcore.alerts.states import State
from profcore.alerts.usage import BestDay, is_gone
from profcore.times import DAY, start_of_day

# Releases about which the rule is asked to choose one base, the newest: up to two statements for each. More are
# hardly ever rolled back in a row; of those only what was reported counts.
MAX_COMPARED: Final = 3
# Releases that an answer names as passed over, the newest. A client may say of all its releases that they were rolled
# back, and names are long.
MAX_NAMED: Final = 20
# Of no release is more to be believed: what the rule does not call gone with it, it calls gone with no other.
HIGHEST: Final = BestDay(share=1.0)


@dataclass(frozen=True, slots=True)
class Rollback:
    """A release that was rolled back, and by when that was known. It happened some time before."""

    release: str
    known_at: datetime


@dataclass(frozen=True, slots=True)
class BaseChoice:
    """The release that a head is compared with, and up to `MAX_NAMED` newer ones that were passed over, in order."""

    release: str
    passed_over: tuple[Rollback, ...] = ()


def choose_base(
    project_id: int,
    head: str,
    candidates: Sequence[str],
    known: Sequence[ReleaseRow],
    rolled_back: Mapping[str, datetime],
) -> BaseChoice:
    """Returns the first candidate that was not rolled back; the first of all if every one was.

    `candidates` are older than the head, the newest first, at least one; `known` are the project's releases, and
    `rolled_back` those of them that a person or an alert reported. With one candidate nothing is asked, else up to two
    statements for each of `MAX_COMPARED`.
    """
    if len(candidates) == 1:
        return BaseChoice(candidates[0])
    rows = {row.release: row for row in known}
    passed: list[Rollback] = []
    compared_count = 0
    for candidate in candidates:
        if candidate in rolled_back:
            passed.append(Rollback(candidate, rolled_back[candidate]))
            continue
        compared_count += 1
        is_comparable = head in rows and candidate in rows and compared_count <= MAX_COMPARED
        if is_comparable and was_gone(project_id, rows[candidate], known, rows[head].first_seen_at):
            passed.append(Rollback(candidate, rows[head].first_seen_at))
            continue
        return BaseChoice(candidate, tuple(passed[:MAX_NAMED]))
    return BaseChoice(candidates[0])


def select_rolled_back(project_id: int, said: Mapping[str, datetime], now: datetime) -> Mapping[str, datetime]:
    """Returns the releases that are `said` to be rolled back or that alerts reported as gone, and when.

    Of alerts, one with an open state is back. One statement if they reported no release, else two.
    """
    of_alert = {"project_id": project_id, "alert_id": RELEASE_ALERT_ID}
    since = now - timedelta(days=BEST_DAYS)
    gone = StateChange.objects.filter(**of_alert, cause=Cause.GONE, at__gte=since).values_list(
        "subject_key", "release", "at"
    )
    ends = {(bytes(key), at): release for key, release, at in gone}
    if not ends:
        return said
    gone_since: dict[str, datetime] = {}
    opened: set[str] = set()
    rows = AlertState.objects.filter(**of_alert, release__in=set(ends.values()))
    for key, release, state, at in rows.values_list("subject_key", "release", "state", "since_at"):
        if State(state).is_open:
            opened.add(release)
        elif (bytes(key), at) in ends:
            gone_since[release] = min(at, gone_since.get(release, at))
    return {release: at for release, at in gone_since.items() if release not in opened} | dict(said)


def was_gone(project_id: int, release: ReleaseRow, known: Sequence[ReleaseRow], at: datetime) -> bool:
    """Returns whether users had older releases again when another one came. One statement, if so two.

    It is asked of two whole UTC days, that of the moment and the one before: hours are merged into days later, and the
    answer must stay the same. What newer releases have does not matter, since one of them took over on that day. A
    release that came on these days has no best day that it could be compared with: it counts as in use, and nothing is
    asked.
    """
    since, until = start_of_day(at) - DAY, start_of_day(at) + DAY
    if since <= start_of_day(release.first_seen_at):
        return False
    older = [row.release for row in known if is_older(row, release)]
    views = replace(measure_span(project_id, release, older, [], (since, until))[None], newer=0)
    if not is_gone(views, HIGHEST):
        return False
    return is_gone(views, measure_best(project_id, release, older, [], since)[None])
