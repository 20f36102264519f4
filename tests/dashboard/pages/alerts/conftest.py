"""An admin of the shop, and the admin of another project."""

import pytest
from django.test import Client

from projects.models import Project
from tests.dashboard.conftest import People


def log_in(user: object) -> Client:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]  # a user
    return client


@pytest.fixture
def owner(people: People) -> Client:
    return log_in(people.owner)


@pytest.fixture
def stranger(people: People) -> Client:
    return log_in(people.stranger)


@pytest.fixture
def elsewhere(people: People) -> Project:
    return Project.objects.get(slug="elsewhere")
