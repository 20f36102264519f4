"""Creating projects."""

from collections.abc import Sequence
from typing import Final

from django.core.exceptions import ValidationError
from django.db import transaction

from projects.audit.acts import Act
from projects.audit.entries import record
from projects.key_cache import clear_keys
from projects.keys import clean_origins, make_public_key
from projects.models import IngestKey, Project

RESERVED: Final = frozenset({"new", "deleting"})  # `/projects/new/` and the like are pages of no project


def create_project(
    *, slug: str, key: str | None = None, origins: Sequence[str] = (), name: str | None = None
) -> tuple[Project, IngestKey]:
    """Creates a project with one public key, and returns both.

    `origins` are spelled as browsers send them (`clean_origins`); without any, only posts that name no origin are
    accepted. Raises Django's `ValidationError` for a slug or key that exists, and for an entry that is not an origin.
    """
    allowed = clean_origins(origins)
    if slug.lower() in RESERVED:
        raise ValidationError({"slug": f"{slug!r} is an address of the dashboard. Choose another slug."})
    with transaction.atomic():
        project = Project(slug=slug, name=name or slug)
        project.full_clean()
        project.save()
        ingest_key = IngestKey(project=project, public_key=key or make_public_key(), origins=allowed)
        ingest_key.full_clean(exclude=["origins"])
        ingest_key.save()
        record(Act.PROJECT_CREATED, project=project, name=project.name, origins=allowed)
    clear_keys()
    return project, ingest_key
