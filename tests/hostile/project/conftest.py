"""The hostile project: made once per module, around all of its tests."""

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from tests.hostile.project.making import HostileProject, make_hostile_project
from tests.runner.keeping import keep


@pytest.fixture(scope="module")
def kept_project(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[HostileProject]:
    yield from keep(django_db_blocker, make_hostile_project)


@pytest.fixture
def hostile(kept_project: HostileProject, db: None) -> HostileProject:
    """A project in which every text has its worst form."""
    return kept_project
