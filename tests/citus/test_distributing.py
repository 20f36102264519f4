"""`manage.py distribute` without a cluster: it says what to do, and changes nothing."""

import pytest
from django.core.management import CommandError, call_command

from ingest.citus import has_citus
from ops.citus.distributing import is_distributed
from tests.citus.cluster import is_on_citus

pytestmark = [pytest.mark.django_db, pytest.mark.skipif(is_on_citus(), reason="this database is distributed")]


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_it_refuses_without_the_extension_and_says_what_to_do(arguments: list[str]) -> None:
    assert not has_citus()
    with pytest.raises(CommandError, match="CREATE EXTENSION citus in this database on all of them"):
        call_command("distribute", *arguments)
    assert not is_distributed()
