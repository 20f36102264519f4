"""Writing states: a state, its change and the outgoing notices are one transaction, that of the alert's claim."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from alerts.models import AlertRule, AlertState, Channel, Notice, StateChange
from alerts.outbox import choose_due
from alerts.subjects import Finding, Subject, owners_of
from ingest.storage.groups import allocate_ids
from profcore.alerts.routing import is_page_wanted
from profcore.alerts.states import QUIET_TO_RESOLVE, Evidence, Standing, State, step, step_accepted
from projects.models import Project

Cause = StateChange.Cause


def select_states(alert: AlertRule, **only: object) -> Mapping[bytes, AlertState]:
    """Returns the states of an alert by the key of their subject. One statement."""
    rows = AlertState.objects.filter(project_id=alert.project_id, alert_id=alert.id, **only)
    return {bytes(row.subject_key): row for row in rows}


def standing_of(row: AlertState | None) -> Standing:
    """Returns the standing that a row keeps; unknown without a row."""
    return Standing() if row is None else Standing(State(row.state), bad=row.bad, quiet=row.quiet)


def step_state(
    row: AlertState | None, evidence: Evidence, finding: Finding, *, bad_to_confirm: int | None = None
) -> tuple[Standing, Finding]:
    """Returns the standing after one more look or day, and what is kept of what it found.

    An accepted state keeps the figures that it was accepted with, while it stays accepted.
    """
    before = standing_of(row)
    if row is not None:
        limit = finding.threshold or 0.0
        kept = step_accepted(before, evidence, low=finding.low, accepted=row.value, limit=limit)
        if kept is not None:
            return kept, replace(finding_of(row), look=finding.look)
    return step(before, evidence, bad_to_confirm=bad_to_confirm), finding


def write_standing(
    alert: AlertRule,
    subject: Subject,
    before: AlertState | None,
    standing: Standing,
    finding: Finding,
    *,
    at: datetime,
    cause: StateChange.Cause,
    about_release: str = "",
    keeps_unknown: bool = False,
    change_finding: Finding | None = None,
) -> StateChange | None:
    """Keeps a standing, and its change with the notices about it if the state is another. Call it in a transaction.

    Returns the change, None if the state is the same. What stays unknown is kept only with `keeps_unknown`: then
    `seen_at` says until when it was looked at, and what is older than that changes nothing. `change_finding` is what
    the change says, if that is not what is kept.
    """
    was = standing_of(before).state
    if standing.state is State.UNKNOWN:
        is_known = before is not None and keeps_unknown and before.seen_at >= at
        if is_known or (before is None and not keeps_unknown):
            return None
    has_changed = was is not standing.state
    began_at = before.began_at if before is not None and was.is_open else None
    if standing.state.is_open and began_at is None:
        began_at = at
    columns: dict[str, Any] = {"release": subject.release, "page": subject.page, "subject": subject.name}
    columns |= {"state": standing.state, "began_at": began_at, **asdict(finding)}
    since_at = at if has_changed or before is None else before.since_at
    # A person looks at nothing: the next day to judge stays the same.
    seen_at = before.seen_at if before is not None and cause is Cause.PERSON else at
    AlertState.objects.update_or_create(
        project_id=alert.project_id,
        alert_id=alert.id,
        subject_key=subject.key,
        defaults={**columns, "bad": standing.bad, "quiet": standing.quiet, "since_at": since_at, "seen_at": seen_at},
    )
    if not has_changed:
        return None
    columns |= {"was": was, "cause": cause, "about_release": about_release}
    change = StateChange(
        subject_key=subject.key,
        at=at,
        **{**columns, **asdict(change_finding or finding)},
    )
    _keep_change(alert, change)
    return change


def _keep_change(alert: AlertRule, change: StateChange) -> None:
    """Keeps a change of an alert with what that asked, and the notices about it."""
    change.project_id, change.alert_id = alert.project_id, alert.id
    change.id = allocate_ids(alert.project_id, "change", 1)[0]
    change.asked = {"kind": alert.kind, "name": alert.name, "question": alert.question}
    change.save(force_insert=True)
    _write_notices(alert, change)


def alert_at(change: StateChange, present: AlertRule | None) -> AlertRule | None:
    """Returns an alert as it was when a state changed, with the name that it has now; None if that is unknown."""
    if change.asked is None:  # a present state in the form of a change
        return present
    name = present.name if present is not None else change.asked["name"]
    return AlertRule(
        id=change.alert_id, kind=change.asked["kind"], name=name, question=change.asked["question"], is_on=False
    )


def subject_of(row: AlertState) -> Subject:
    """Returns the subject of a state."""
    subject = Subject(release=row.release, page=row.page, name=row.subject)
    return subject if subject.key == bytes(row.subject_key) else replace(subject, base=row.base_release)


def finding_of(row: AlertState) -> Finding:
    """Returns what was found the last time."""
    return Finding(**{name: getattr(row, name) for name in Finding.__slots__})


def end_of(row: AlertState) -> Standing:
    """Returns the standing with which an open state ends: a confirmed one is resolved, a suspicion was nothing."""
    is_confirmed = State(row.state) is State.CONFIRMED
    return Standing(State.RESOLVED, quiet=QUIET_TO_RESOLVE) if is_confirmed else Standing(State.OK)


def is_notable(change: StateChange, *, tells_suspected: bool) -> bool:
    """Returns whether a change is worth a message: a confirmed one and its end; to some channels, suspicions as well.

    The end of a suspicion belongs to it, also if a person accepted it: it means nothing without its beginning.
    """
    if change.state == State.CONFIRMED:
        return True
    if State.SUSPECTED in (change.state, change.was):
        return tells_suspected
    return change.state == State.RESOLVED


def concerns(channel: Channel, alert: AlertRule, change: StateChange, owners: Collection[str] = ()) -> bool:
    """Returns whether a change is about the alerts, pages and owners that a channel gets messages about."""
    if channel.alert_ids is not None and alert.id not in channel.alert_ids:
        return False
    if channel.owners is not None and not set(channel.owners) & set(owners):
        return False
    page = change.page if change.page is not None else alert.question.get("page")
    return is_page_wanted(channel.pages, page)


def _write_notices(alert: AlertRule, change: StateChange) -> None:
    """Writes one row of the outbox for each channel that wants to know."""
    channels = list(Channel.objects.filter(project_id=change.project_id, is_on=True).order_by("id"))
    by_owner = any(channel.owners is not None for channel in channels)
    owners = owners_of(Project.objects.get(pk=change.project_id), change) if by_owner else ()
    Notice.objects.bulk_create(
        Notice(
            project_id=change.project_id,
            change_id=change.id,
            channel_id=channel.id,
            release=change.release,
            due_at=choose_due(channel, change.at),
        )
        for channel in channels
        if is_notable(change, tells_suspected=channel.tells_suspected) and concerns(channel, alert, change, owners)
    )
