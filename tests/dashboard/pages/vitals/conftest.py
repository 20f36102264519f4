"""A shop with visits, made once for each file, and somebody who reads it."""

from collections.abc import Iterator

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from projects.models import Project
from tests.dashboard.pages.vitals.shop_visits import log_in, make_visited_shop
from tests.runner.keeping import keep


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Project]:
    yield from keep(django_db_blocker, make_visited_shop)


@pytest.fixture
def reader(client: Client, kept: Project, db: None) -> Client:
    return log_in(client)
