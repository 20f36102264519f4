"""Fixtures of the selectors."""

import pytest

from projects.models import Project
from tests.aggregate.selectors.displayed_app import make_app


@pytest.fixture
def app() -> Project:
    """A project whose views call a framework, for display rules."""
    return make_app()
