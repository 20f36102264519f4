"""Shared links for tests, and clients that opened one."""

from datetime import UTC, datetime

from django.contrib.auth.models import User
from django.test import Client

from projects.models import Project, SharedLink
from projects.shared_links import create_shared_link


def share(project: Project, creator: User, page: str = "", *, days: int = 7) -> tuple[SharedLink, str]:
    """Returns a link to a page of a project, and its path."""
    link, clear = create_shared_link(project=project, creator=creator, page=page, now=datetime.now(UTC), days=days)
    return link, f"/shared/{clear}/"


def open_as_guest(path: str) -> Client:
    """Returns a client without an account that opened a link."""
    client = Client()
    assert client.get(path).status_code == 302
    return client


def below(link: SharedLink, address: str) -> str:
    """Returns where a guest reads an address."""
    return f"/shared/{link.prefix}{address}"
