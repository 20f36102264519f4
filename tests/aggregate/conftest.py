"""Fixtures of the tests of maintenance, folding and reading: object stores, and a project to post to."""

import pytest

from projects.creation import create_project
from projects.models import Project
from tests.object_stores import bucket, moto_server, objects  # noqa: F401


@pytest.fixture
def key() -> str:
    """The key of a new project, which any origin may use."""
    create_project(slug="shop", key="shop-key", origins=["*"])
    return "shop-key"


@pytest.fixture
def project_id(key: str) -> int:
    return Project.objects.get(keys__public_key=key).pk
