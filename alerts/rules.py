"""The watches of a project: creating, changing and deleting them, and accepting what they found."""

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import connection, transaction
from django.db.models import QuerySet

from alerts.changes import Cause, end_of, found_of, subject_of, write_standing
from alerts.models import StateChange, Watch, WatchState
from ingest.storage.groups import allocate_ids
from profcore.alerts.states import Standing, State
from projects.audit.acts import Act
from projects.audit.entries import record
from projects.models import Project

RELEASE_WATCH_ID: Final = 0  # the project's counter begins at 1
MAX_NAME_CHARS: Final = 80
RELEASE_SLUG: Final = "release"
# Names that clients choose. Parts of the read API's addresses are not free.
SLUG: Final = re.compile(r"[a-z][a-z0-9-]{0,63}")
TAKEN_SLUGS: Final = (RELEASE_SLUG, "changes", "preview")
CHANGEABLE: Final = ("name", "question", "is_on")
NUMBER: Final = re.compile(r"[0-9]{1,9}")


def make_release_watches(now: datetime) -> int:
    """Makes the release watch of each project that has none yet; returns how many. Two statements if there is none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT project_id FROM alerts_watch WHERE id = %s", [RELEASE_WATCH_ID])
        watched = {project_id for (project_id,) in cursor}
    live = (
        Project.objects.filter(deletion_started_at=None, archived_at=None).order_by("id").values_list("id", flat=True)
    )
    missing = [project_id for project_id in live if project_id not in watched]
    for project_id in missing:
        make_release_watch(project_id, now)
    return len(missing)


def make_release_watch(project_id: int, now: datetime) -> None:
    """Makes the release watch of a project, unless it has one."""
    watch = Watch(
        project_id=project_id,
        id=RELEASE_WATCH_ID,
        kind=Watch.Kind.RELEASE,
        name="New releases",
        question={},
        created_at=now,
        due_at=now,
    )
    Watch.objects.bulk_create([watch], ignore_conflicts=True)


def find_watch(project_id: int, called: str) -> Watch | None:
    """Returns a watch by its id or slug; `release` is the release watch. None if there is no such watch."""
    own = Watch.objects.filter(project_id=project_id)
    if called == RELEASE_SLUG:
        return own.filter(id=RELEASE_WATCH_ID).first()
    if NUMBER.fullmatch(called):
        return own.filter(id=int(called)).first()
    return own.filter(slug=called).first() if SLUG.fullmatch(called) else None


def create_watch(
    *,
    project: Project,
    kind: str,
    name: str,
    question: Mapping[str, Any],
    now: datetime,
    is_on: bool = True,
    slug: str | None = None,
) -> Watch:
    """Creates a watch of a checked question. Raises `ValidationError` for `name`, or if the project has too many."""
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # two at the same time count one by one
        if Watch.objects.filter(project_id=project.pk).count() >= settings.GUARD_MAX_WATCHES:
            raise ValidationError(
                {"name": f"A project has at most {settings.GUARD_MAX_WATCHES} watches. Delete one first."}
            )
        watch = Watch.objects.create(
            project=project,
            id=allocate_ids(project.pk, "watch", 1)[0],
            kind=kind,
            name=clean_name(name),
            question=dict(question),
            is_on=is_on,
            slug=slug,
            created_at=now,
            due_at=now,
        )
        about = {"watch": watch.id, "kind": kind, "name": watch.name, "question": dict(question), "is_on": is_on}
        record(Act.WATCH_CREATED, project=project, **about)
    return watch


def put_watch(
    *,
    project: Project,
    called: str,
    kind: str,
    name: str,
    question: Mapping[str, Any],
    is_on: bool,
    now: datetime,
    only: Collection[str] = CHANGEABLE,
) -> tuple[Watch, bool]:
    """Makes a watch of this slug or id what is given, and returns it, and whether it was created. Twice is as once.

    Of a watch that is there, `only` these fields are changed.

    Raises `Watch.DoesNotExist` for an id that no watch has, and `ValidationError` for a field, or for `slug`.
    """
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # of two at the same time, one creates it
        if called == RELEASE_SLUG:
            make_release_watch(project.pk, now)
        watch = find_watch(project.pk, called)
        if watch is None:
            slug = clean_slug(called, Watch.DoesNotExist)
            if kind == Watch.Kind.RELEASE:
                raise ValidationError({"kind": f"A project has one watch on releases. It is called {RELEASE_SLUG}."})
            made = create_watch(
                project=project, kind=kind, name=name, question=question, now=now, is_on=is_on, slug=slug
            )
            return made, True
        if kind != watch.kind:
            raise ValidationError({"kind": f"This watch has the kind {watch.kind}. Create another one."})
        change_watch(
            watch,
            now=now,
            name=name if "name" in only else None,
            question=question if "question" in only else None,
            is_on=is_on if "is_on" in only else None,
        )
    return watch, False


def change_watch(
    watch: Watch,
    *,
    now: datetime,
    name: str | None = None,
    question: Mapping[str, Any] | None = None,
    is_on: bool | None = None,
) -> None:
    """Changes the given fields of a watch. With another question its states begin anew; the history stays.

    What is open ends with the old question. New cost is judged again from the last days on: what is new in them may be
    over another limit. Raises `ValidationError`, and `Watch.DoesNotExist` if it was deleted meanwhile.
    """
    cleaned = None if name is None else clean_name(name)
    with transaction.atomic():
        if not _hold(watch):
            raise Watch.DoesNotExist
        # What is not given stays as it is now: somebody may have changed it since the caller read the watch.
        cleaned = watch.name if cleaned is None else cleaned
        asked = watch.question if question is None else dict(question)
        is_on = watch.is_on if is_on is None else is_on
        if (cleaned, asked, is_on) == (watch.name, watch.question, watch.is_on):
            return
        if asked != watch.question:
            _end_states(watch, now, cause=Cause.CHANGED)
            watch.evaluated_at = None
        elif is_on and not watch.is_on:  # how long nothing was known says nothing of the days when nobody looked
            _states_of(watch).filter(state=State.UNKNOWN).delete()
        watch.name, watch.question, watch.is_on, watch.due_at = cleaned, asked, is_on, now
        watch.problem = None
        watch.save(update_fields=["name", "question", "is_on", "due_at", "evaluated_at", "problem"])
        record(
            Act.WATCH_CHANGED,
            project=watch.project_id,
            watch=watch.id,
            name=cleaned,
            question=asked,
            is_on=is_on,
        )


def _hold(watch: Watch) -> bool:
    """Reads a watch anew and locks it until the transaction ends: first it, then its states, as an evaluation does.

    Returns False if it was deleted meanwhile.
    """
    try:
        watch.refresh_from_db(from_queryset=Watch.objects.select_for_update())
    except Watch.DoesNotExist:
        return False
    return True


def _states_of(watch: Watch) -> QuerySet[WatchState]:
    return WatchState.objects.filter(project_id=watch.project_id, watch_id=watch.id)


def _end_states(watch: Watch, now: datetime, *, cause: StateChange.Cause) -> None:
    """Ends what is open, so that those who got the alarm get its end, and deletes the states."""
    for row in _states_of(watch).filter(state__in=[state for state in State if state.is_open]):
        write_standing(watch, subject_of(row), row, end_of(row), found_of(row), at=now, cause=cause)
    _states_of(watch).delete()


def delete_watch(watch: Watch, now: datetime) -> None:
    """Deletes a watch with its states; what is open ends. Its history stays.

    Raises `ValidationError` for the release watch, which can only be switched off.
    """
    if watch.id == RELEASE_WATCH_ID:
        raise ValidationError({"name": "The watch on new releases can be switched off, but not deleted."})
    with transaction.atomic():
        if not _hold(watch):
            return
        _end_states(watch, now, cause=Cause.DELETED)
        Watch.objects.filter(project_id=watch.project_id, id=watch.id).delete()
        record(Act.WATCH_DELETED, project=watch.project_id, watch=watch.id, name=watch.name)


def accept(watch: Watch, subject_key: bytes | memoryview, now: datetime) -> StateChange | None:
    """Ends a suspected or confirmed state because somebody says so. Returns its change, None if there is none."""
    with transaction.atomic():
        row = _states_of(watch).filter(subject_key=subject_key).first() if _hold(watch) else None
        if row is None or not State(row.state).is_open:
            return None
        standing = Standing(State.RESOLVED)
        change = write_standing(watch, subject_of(row), row, standing, found_of(row), at=now, cause=Cause.PERSON)
        record(Act.WATCH_ACCEPTED, project=watch.project_id, watch=watch.id, release=row.release, page=row.page)
    return change


def clean_name(name: str) -> str:
    """Returns the name of a watch or channel. Raises `ValidationError` for `name`."""
    cleaned = " ".join(name.split())
    if not 0 < len(cleaned) <= MAX_NAME_CHARS or not cleaned.isprintable():
        raise ValidationError({"name": f"Give a name of 1 to {MAX_NAME_CHARS} characters."})
    return cleaned


def clean_slug(slug: str, missing: type[ObjectDoesNotExist]) -> str:
    """Returns the slug of a new watch or channel. Raises `missing` for an id, and `ValidationError` for `slug`."""
    if NUMBER.fullmatch(slug):
        raise missing
    if slug in TAKEN_SLUGS or not SLUG.fullmatch(slug):
        words = "Use lower-case letters, digits and hyphens, at most 64, with a letter first"
        raise ValidationError({"slug": f"{words}; and not {', '.join(TAKEN_SLUGS)}."})
    return slug
