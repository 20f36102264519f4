"""The site of the tests of jobs, made once a file."""

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker, Settings

from projects.models import Project
from tests.dashboard.conftest import make_site, read_in_pieces
from tests.runner.keeping import keep


@pytest.fixture(scope="module")
def kept_site(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Project]:
    yield from keep(django_db_blocker, make_site)


@pytest.fixture
def site(kept_site: Project, db: None, settings: Settings) -> Project:
    """The site of these tests: nearly all of them only read it, and it takes a third of a second to make."""
    read_in_pieces(settings)
    return Project.objects.get(pk=kept_site.pk)
