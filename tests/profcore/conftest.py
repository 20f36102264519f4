"""The core's tests need no Django: nothing of a process is to be forgotten between them."""

import pytest


@pytest.fixture(autouse=True)
def _forget_everything() -> None:
    """Replaces the fixture of the same name above, which imports the whole application."""
