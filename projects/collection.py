"""What a project's pages record: changing it. The snippet that a page loads by its key has it inside."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import transaction

from profcore.trace.collection import FIELDS, LEFT_TO_PAGES, Collection, CollectionError, read_collection
from projects.audit.acts import Act
from projects.audit.entries import record
from projects.key_cache import clear_keys
from projects.models import Project

COLUMNS: Final = {name: f"collection_{name}" for name in FIELDS}


def plan_collection(project: Project, changes: Mapping[str, Any]) -> Collection:  # Any: JSON, checked by its reader
    """Returns a project's collection with some fields changed; null gives a field its default again.

    Raises Django's `ValidationError`, which names each wrong field.
    """
    changes = {name: getattr(LEFT_TO_PAGES, name, None) if value is None else value for name, value in changes.items()}
    try:
        return read_collection(asdict(project.collection) | changes)
    except CollectionError as error:
        raise ValidationError(dict(error.problems)) from None


def change_collection(project: Project, collection: Collection) -> None:
    """Replaces what a project's pages record. Browsers keep the snippet for five minutes (`ingest.snippet.views`)."""
    before = asdict(project.collection)
    for name, column in COLUMNS.items():
        setattr(project, column, getattr(collection, name))
    project.collection_pages = [list(pair) for pair in collection.pages]
    with transaction.atomic():
        project.save(update_fields=list(COLUMNS.values()))
        record(Act.COLLECTION_CHANGED, project=project, collection=asdict(collection), before=before)
    clear_keys()
