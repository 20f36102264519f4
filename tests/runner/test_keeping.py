"""Rows that a module keeps: what could not be made leaves nothing behind, and nothing cached spoils it."""

import pytest
from django.db import connection
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from ingest.limits import envelope_limits
from projects.models import Project
from tests.builders import make_project
from tests.runner.keeping import keep

pytestmark = pytest.mark.django_db


def test_what_could_not_be_made_leaves_no_transaction_open(django_db_blocker: DjangoDbBlocker) -> None:
    before = list(connection.savepoint_ids)

    def make() -> None:
        make_project("shop")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        next(keep(django_db_blocker, make))
    assert list(connection.savepoint_ids) == before
    assert not Project.objects.exists()


def test_what_another_module_left_cached_is_cleared_first(django_db_blocker: DjangoDbBlocker) -> None:
    usual = envelope_limits().samples
    envelope_limits.cache_clear()
    with override_settings(INGEST_MAX_SAMPLES=usual - 1):
        assert envelope_limits().samples == usual - 1
    kept = keep(django_db_blocker, lambda: envelope_limits().samples)
    assert next(kept) == usual
    assert list(kept) == []
