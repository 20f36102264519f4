"""The alerts of a project: creating, changing and deleting them, and accepting what they found."""

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import connection, transaction
from django.db.models import QuerySet

from alerts.changes import Cause, end_of, finding_of, subject_of, write_standing
from alerts.models import AlertRule, AlertState, StateChange
from ingest.storage.groups import allocate_ids
from profcore.alerts.states import Standing, State
from projects.audit.acts import Act
from projects.audit.entries import record
from projects.models import Project

RELEASE_ALERT_ID: Final = 0  # the project's counter begins at 1
MAX_NAME_CHARS: Final = 80
RELEASE_SLUG: Final = "release"
RELEASE_NAME: Final = "New releases"
# Names that clients choose. Parts of the read API's addresses are not free.
SLUG: Final = re.compile(r"[a-z][a-z0-9-]{0,63}")
TAKEN_SLUGS: Final = (RELEASE_SLUG, "changes", "preview")
CHANGEABLE: Final = ("name", "question", "is_on")
NUMBER: Final = re.compile(r"[0-9]{1,9}")


def make_release_alerts(now: datetime) -> int:
    """Makes the release alert of each project without one; returns how many. Two statements if no project needs one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT project_id FROM alerts_alertrule WHERE id = %s", [RELEASE_ALERT_ID])
        watched = {project_id for (project_id,) in cursor}
    live = (
        Project.objects.filter(deletion_started_at=None, archived_at=None).order_by("id").values_list("id", flat=True)
    )
    missing = [project_id for project_id in live if project_id not in watched]
    for project_id in missing:
        make_release_alert(project_id, now)
    return len(missing)


def make_release_alert(project_id: int, now: datetime) -> None:
    """Makes the release alert of a project, unless it has one."""
    AlertRule.objects.bulk_create([build_release_alert(project_id, now)], ignore_conflicts=True)


def build_release_alert(project_id: int, now: datetime) -> AlertRule:
    """Returns the release alert that a project gets, not stored."""
    return AlertRule(
        project_id=project_id,
        id=RELEASE_ALERT_ID,
        kind=AlertRule.Kind.RELEASE,
        name=RELEASE_NAME,
        question={},
        created_at=now,
        due_at=now,
    )


def find_alert(project_id: int, called: str) -> AlertRule | None:
    """Returns an alert by its id or slug; `release` is the release alert. None if there is no such alert."""
    alerts = AlertRule.objects.filter(project_id=project_id)
    if called == RELEASE_SLUG:
        return alerts.filter(id=RELEASE_ALERT_ID).first()
    if NUMBER.fullmatch(called):
        return alerts.filter(id=int(called)).first()
    return alerts.filter(slug=called).first() if SLUG.fullmatch(called) else None


def create_alert(
    *,
    project: Project,
    kind: str,
    name: str,
    question: Mapping[str, Any],
    now: datetime,
    is_on: bool = True,
    slug: str | None = None,
) -> AlertRule:
    """Creates an alert of a checked question. Raises `ValidationError` for `name`, or if the project has too many."""
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # two at the same time count one by one
        if AlertRule.objects.filter(project_id=project.pk).count() >= settings.ALERTS_MAX_RULES:
            raise ValidationError(
                {"name": f"A project has at most {settings.ALERTS_MAX_RULES} alerts. Delete one first."}
            )
        alert = AlertRule.objects.create(
            project=project,
            id=allocate_ids(project.pk, "alert", 1)[0],
            kind=kind,
            name=clean_name(name),
            question=dict(question),
            is_on=is_on,
            slug=slug,
            created_at=now,
            due_at=now,
        )
        about = {"alert": alert.id, "kind": kind, "name": alert.name, "question": dict(question), "is_on": is_on}
        record(Act.ALERT_CREATED, project=project, **about)
    return alert


def put_alert(
    *,
    project: Project,
    called: str,
    kind: str,
    name: str,
    question: Mapping[str, Any],
    is_on: bool,
    now: datetime,
    only: Collection[str] = CHANGEABLE,
) -> tuple[AlertRule, bool]:
    """Makes an alert of this slug or id what is given, and returns it, and whether it was created. Twice is as once.

    Of an alert that is there, `only` these fields are changed.

    Raises `AlertRule.DoesNotExist` for an id that no alert has, and `ValidationError` for a field, or for `slug`.
    """
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # of two at the same time, one creates it
        if called == RELEASE_SLUG:
            make_release_alert(project.pk, now)
        alert = find_alert(project.pk, called)
        if alert is None:
            slug = clean_slug(called, AlertRule.DoesNotExist)
            if kind == AlertRule.Kind.RELEASE:
                raise ValidationError({"kind": f"A project has one alert on releases. It is called {RELEASE_SLUG}."})
            made = create_alert(
                project=project, kind=kind, name=name, question=question, now=now, is_on=is_on, slug=slug
            )
            return made, True
        if kind != alert.kind:
            raise ValidationError({"kind": f"This alert has the kind {alert.kind}. Create another one."})
        change_alert(
            alert,
            now=now,
            name=name if "name" in only else None,
            question=question if "question" in only else None,
            is_on=is_on if "is_on" in only else None,
        )
    return alert, False


def change_alert(
    alert: AlertRule,
    *,
    now: datetime,
    name: str | None = None,
    question: Mapping[str, Any] | None = None,
    is_on: bool | None = None,
) -> None:
    """Changes the given fields of an alert. With another question its states begin anew; the history stays.

    What is open ends with the old question. New third parties is judged again from the last days on: what is new in
    them may be over another limit. Raises `ValidationError`, and `AlertRule.DoesNotExist` if it was deleted meanwhile.
    """
    cleaned = None if name is None else clean_name(name)
    with transaction.atomic():
        if not _hold(alert):
            raise AlertRule.DoesNotExist
        # What is not given stays as it is now: it may have changed since the caller read the alert.
        cleaned = alert.name if cleaned is None else cleaned
        wanted = alert.question if question is None else dict(question)
        is_on = alert.is_on if is_on is None else is_on
        if (cleaned, wanted, is_on) == (alert.name, alert.question, alert.is_on):
            return
        if wanted != alert.question:
            _end_states(alert, now, cause=Cause.CHANGED)
            alert.evaluated_at = None
        elif is_on and not alert.is_on:  # how long nothing was known says nothing of the days without a look
            _states_of(alert).filter(state=State.UNKNOWN).delete()
        alert.name, alert.question, alert.is_on, alert.due_at = cleaned, wanted, is_on, now
        alert.problem = None
        alert.save(update_fields=["name", "question", "is_on", "due_at", "evaluated_at", "problem"])
        record(
            Act.ALERT_CHANGED,
            project=alert.project_id,
            alert=alert.id,
            name=cleaned,
            question=wanted,
            is_on=is_on,
        )


def _hold(alert: AlertRule) -> bool:
    """Reads an alert anew and locks it until the transaction ends: first it, then its states, as an evaluation does.

    Returns False if it was deleted meanwhile.
    """
    try:
        alert.refresh_from_db(from_queryset=AlertRule.objects.select_for_update())
    except AlertRule.DoesNotExist:
        return False
    return True


def _states_of(alert: AlertRule) -> QuerySet[AlertState]:
    return AlertState.objects.filter(project_id=alert.project_id, alert_id=alert.id)


def _end_states(alert: AlertRule, now: datetime, *, cause: StateChange.Cause) -> None:
    """Ends what is open, so that those who got the alarm get its end, and deletes the states."""
    for row in _states_of(alert).filter(state__in=[state for state in State if state.is_open]):
        write_standing(alert, subject_of(row), row, end_of(row), finding_of(row), at=now, cause=cause)
    _states_of(alert).delete()


def delete_alert(alert: AlertRule, now: datetime) -> None:
    """Deletes an alert with its states; what is open ends. Its history stays.

    Raises `ValidationError` for the release alert, which can only be switched off.
    """
    if alert.id == RELEASE_ALERT_ID:
        raise ValidationError({"name": "The alert on new releases can be switched off, but not deleted."})
    with transaction.atomic():
        if not _hold(alert):
            return
        _end_states(alert, now, cause=Cause.DELETED)
        AlertRule.objects.filter(project_id=alert.project_id, id=alert.id).delete()
        record(Act.ALERT_DELETED, project=alert.project_id, alert=alert.id, name=alert.name)


def accept(alert: AlertRule, subject_key: bytes | memoryview, now: datetime) -> StateChange | None:
    """Ends a suspected or confirmed state because a person says so. Returns its change, None if there is none."""
    with transaction.atomic():
        row = _states_of(alert).filter(subject_key=subject_key).first() if _hold(alert) else None
        if row is None or not State(row.state).is_open:
            return None
        standing = Standing(State.RESOLVED)
        change = write_standing(alert, subject_of(row), row, standing, finding_of(row), at=now, cause=Cause.PERSON)
        record(Act.ALERT_ACCEPTED, project=alert.project_id, alert=alert.id, release=row.release, page=row.page)
    return change


def clean_name(name: str) -> str:
    """Returns the name of an alert or channel. Raises `ValidationError` for `name`."""
    cleaned = " ".join(name.split())
    if not 0 < len(cleaned) <= MAX_NAME_CHARS or not cleaned.isprintable():
        raise ValidationError({"name": f"Give a name of 1 to {MAX_NAME_CHARS} characters."})
    return cleaned


def clean_slug(slug: str, missing: type[ObjectDoesNotExist]) -> str:
    """Returns the slug of a new alert or channel. Raises `missing` for an id, and `ValidationError` for `slug`."""
    if NUMBER.fullmatch(slug):
        raise missing
    if slug in TAKEN_SLUGS or not SLUG.fullmatch(slug):
        problem = "Use lower-case letters, digits and hyphens, at most 64, with a letter first"
        raise ValidationError({"slug": f"{problem}; and not {', '.join(TAKEN_SLUGS)}."})
    return slug
