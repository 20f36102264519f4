"""Django's own checks find nothing: parts and commands start without them, since they import every page."""

import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_djangos_checks_find_nothing_to_warn_of() -> None:
    call_command("check", fail_level="WARNING", databases=["default"])
