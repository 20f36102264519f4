"""A project's own retention and quota; without its own value, the setting's applies."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from projects.audit.actors import ActorKind, current_actor
from projects.audit.acts import Act
from projects.audit.entries import record
from projects.key_cache import clear_keys
from projects.models import Project

# Each limit of a project, and the setting that is its default.
LIMITS: Final = {
    "keep_raw_days": "KEEP_RAW_DAYS",
    "keep_views_days": "KEEP_VIEWS_DAYS",
    "keep_cells_days": "KEEP_CELLS_DAYS",
    "max_traces_per_day": "INGEST_MAX_TRACES_PER_DAY",
    "max_mb_per_day": "INGEST_MAX_MB_PER_DAY",
    "max_kept_mb": "INGEST_MAX_KEPT_MB",
}


@dataclass(frozen=True, slots=True)
class ProjectLimit:
    """One limit: the project's own value (None: it has none) and the server's default."""

    own: int | None
    default: int

    @property
    def effective(self) -> int:
        """The effective value: days, traces or megabytes. A quota of 0 is none."""
        return self.default if self.own is None else self.own

    @property
    def exceeds(self) -> bool:
        """Returns whether the project's own value allows more than the server's default."""
        if self.own is None or self.default == 0:
            return False
        return self.own == 0 or self.own > self.default


def limit_of(project: Project, name: str) -> ProjectLimit:
    """Returns one of a project's limits; `name` is a key of `LIMITS`."""
    return ProjectLimit(getattr(project, name), int(getattr(settings, LIMITS[name])))


def change_limits(project: Project, changes: Mapping[str, object]) -> None:
    """Sets some of a project's limits, all of them or none; None removes the project's own value.

    With a shorter retention, the next run of `expire` deletes older data. A quota applies within seconds, when the web
    processes look the key up again. Raises Django's `ValidationError`, which names each wrong field. With
    `LIMITS_ARE_CEILINGS`, only a command on the server sets more than the server's default.
    """
    wrong = {}
    before = {name: getattr(project, name) for name in LIMITS if name in changes}
    for name, value in changes.items():
        if name not in LIMITS:
            wrong[name] = f"It is not a limit of a project; {', '.join(LIMITS)} are."
        elif value is not None and type(value) is not int:
            wrong[name] = "It must be a whole number, or null for the server's default."
        else:
            setattr(project, name, value)
            limit = limit_of(project, name)
            if settings.LIMITS_ARE_CEILINGS and limit.exceeds and current_actor().kind is not ActorKind.COMMAND:
                wrong[name] = f"This server allows at most {limit.default}."
    if wrong:
        project.refresh_from_db(fields=list(LIMITS))
        raise ValidationError(wrong)
    try:
        project.clean_fields(exclude=[field.name for field in Project._meta.fields if field.name not in changes])
    except ValidationError:
        project.refresh_from_db(fields=list(LIMITS))
        raise
    if changes:
        with transaction.atomic():
            project.save(update_fields=list(changes))
            record(Act.LIMITS_CHANGED, project=project, limits=dict(changes), before=before)
        clear_keys()
