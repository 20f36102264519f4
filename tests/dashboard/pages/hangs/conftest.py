"""A member of the project of a test."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import Membership, Project


@pytest.fixture
def reader(client: Client, project: Project) -> Client:
    user = User.objects.create_user("reader")
    Membership.objects.create(project=project, user=user)
    client.force_login(user)
    return client
