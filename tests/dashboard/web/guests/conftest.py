"""The shop with two releases, another project, and their people: made once per file."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from pytest_django import DjangoDbBlocker

from projects.models import Project
from tests.builders import make_call_tree, make_cell, make_func, make_hotspot
from tests.dashboard.conftest import People, make_people, make_shop
from tests.runner.keeping import keep


@pytest.fixture(scope="module")
def kept_people(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[People]:
    yield from keep(django_db_blocker, make_two_projects)


def make_two_projects() -> People:
    """Makes the shop and `elsewhere`, both with a release 2.0.0, and display rules of the shop."""
    shop = make_shop()
    people = make_people(shop)
    for project in (shop, Project.objects.get(slug="elsewhere")):
        cell = make_cell(project, release="2.0.0", js_us=12_000)
        func = make_func(project, "later")
        make_hotspot(cell, func, self_us=12_000, total_us=12_000)
        make_call_tree(cell, [(-1, func, 12_000)])
    shop.display_rules = [{"action": "group", "field": "name", "pattern": "la*", "title": "Vendor"}]
    shop.save(update_fields=["display_rules"])
    return people


@pytest.fixture
def grown(kept_people: People, db: None) -> Project:
    """The shop with a second release, and display rules."""
    return Project.objects.get(slug="shop")


@pytest.fixture
def its_people(kept_people: People, db: None) -> People:
    """The people of the grown shop."""
    return People(*(User.objects.get(username=name) for name in ("owner", "member", "stranger")))
