"""A client with a token that may change watches and channels."""

import pytest

from ingest.models import Project
from tests.dashboard.api.guard.asking import Asker, ask_with


@pytest.fixture
def coder(shop: Project) -> Asker:
    return ask_with(shop, "watches")
