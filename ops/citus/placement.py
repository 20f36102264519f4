"""On which servers of a Citus cluster a table is: the one rule, which follows from its key.

With plain PostgreSQL nothing of this matters. Every table of traffic has a key that begins with `project_id`, so a
project's rows can be together on one worker, and a statement about one project runs there alone.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Final

from django.apps import apps
from django.db import models

SHARD_COLUMN: Final = "project_id"
# Small, changed by persons only, and joined with rows of traffic: every worker has a copy.
REFERENCES: Final = ("projects_project", "projects_ingestkey")


class Place(Enum):
    """Where the rows of a table are."""

    DISTRIBUTED = "distributed"  # on the worker of their project
    REFERENCE = "reference"  # on every server
    LOCAL = "local"  # on the coordinator: who may log in, what was done, which processes there are


def place_of(model: type[models.Model]) -> Place:
    """Returns the place of a model's table."""
    if model._meta.db_table in REFERENCES:
        return Place.REFERENCE
    first = next(iter(model._meta.pk_fields))
    return Place.DISTRIBUTED if first.column == SHARD_COLUMN else Place.LOCAL


def list_places() -> dict[str, Place]:
    """Returns the place of every table, in the order of their names; partitions are where their table is."""
    return dict(sorted(_iter_places()))


def list_tables(place: Place) -> list[str]:
    """Returns the tables of a place; references in the order in which they refer to each other."""
    if place is Place.REFERENCE:
        return list(REFERENCES)
    return [table for table, table_place in list_places().items() if table_place is place]


def _iter_places() -> Iterator[tuple[str, Place]]:
    for model in apps.get_models(include_auto_created=True):
        if not model._meta.proxy:
            yield model._meta.db_table, place_of(model)
