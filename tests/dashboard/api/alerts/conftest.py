"""A client with a token that may change alerts and channels."""

import pytest

from projects.models import Project
from tests.dashboard.api.alerts.asking import Asker, ask_with


@pytest.fixture
def coder(shop: Project) -> Asker:
    return ask_with(shop, "alerts")
