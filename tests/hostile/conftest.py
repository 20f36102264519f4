"""The lab of the fuzzer: made once per module, around all of its tests."""

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from tests.hostile.lab import Lab, make_lab
from tests.runner.keeping import keep


@pytest.fixture(scope="module")
def kept_lab(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Lab]:
    yield from keep(django_db_blocker, make_lab)


@pytest.fixture
def lab(kept_lab: Lab, db: None) -> Lab:
    """Two projects, and people who ask about one of them."""
    return kept_lab
