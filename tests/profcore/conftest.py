"""The core's tests need no Django: no state of a process has to be reset between them."""

import pytest


@pytest.fixture(autouse=True)
def _clear_caches() -> None:
    """Replaces the fixture of the same name above, which imports the whole application."""
