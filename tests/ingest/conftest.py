"""Fixtures of the door: a project with one key that any origin may use."""

from collections.abc import Iterator

import pytest

from projects.creation import create_project
from tests.ingest.endpoint.posting import Door
from tests.ingest.snippet.site import Site, serve_site
from tests.object_stores import bucket, moto_server, objects  # noqa: F401


@pytest.fixture
def door(db: None) -> Door:
    """A door inside the test's own transaction."""
    return _make_door()


@pytest.fixture
def open_door(transactional_db: None) -> Door:
    """A door whose rows are committed: for threads, servers, and statements that fail."""
    return _make_door()


def _make_door() -> Door:
    project, key = create_project(slug="shop", key="shop-key", origins=["*"])
    return Door(project_id=project.pk, key=key.public_key)


@pytest.fixture
def site() -> Iterator[Site]:
    """A small server that gives pages the snippet and keeps what they post."""
    with serve_site() as site:
        yield site
