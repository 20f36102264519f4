"""Fixtures of the endpoint: a project with one key that any origin may use."""

import socket
from collections.abc import Iterator

import pytest

from projects.creation import create_project
from tests.ingest.endpoint.posting import IngestServer
from tests.ingest.snippet.site import Site, serve_site
from tests.object_stores import bucket, moto_server, objects  # noqa: F401


@pytest.fixture
def endpoint(db: None) -> IngestServer:
    """An endpoint inside the test's own transaction."""
    return _make_endpoint()


@pytest.fixture
def open_endpoint(transactional_db: None) -> IngestServer:
    """An endpoint whose rows are committed: for threads, servers, and statements that fail."""
    return _make_endpoint()


def _make_endpoint() -> IngestServer:
    project, key = create_project(slug="shop", key="shop-key", origins=["*"])
    return IngestServer(project_id=project.pk, key=key.public_key)


@pytest.fixture
def site() -> Iterator[Site]:
    """A small server that gives pages the snippet and keeps what they post."""
    with serve_site() as site:
        yield site


@pytest.fixture
def closed_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port
