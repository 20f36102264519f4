"""Fixtures for the tests of the supervisor."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from config.up.folder import DataFolder


@pytest.fixture(autouse=True)
def _remove_outside_sockets(tmp_path: Path) -> Iterator[None]:
    """pytest's folders lie deep, so sockets go below /tmp; tests that use servers without a supervisor leave them."""
    yield
    for path in (tmp_path / "var", tmp_path / "closed" / "var"):
        DataFolder(path).remove_outside_sockets()
