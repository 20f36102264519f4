"""Fixtures for the tests of the supervisor."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.up.folder import DataFolder
from tests.up.running import Running, run_manage


@pytest.fixture(autouse=True)
def _remove_outside_sockets(tmp_path: Path) -> Iterator[None]:
    """pytest's folders lie deep, so sockets go below /tmp; tests that use servers without a supervisor leave them."""
    yield
    for path in (tmp_path / "var", tmp_path / "closed" / "var"):
        DataFolder(path).remove_outside_sockets()


@pytest.fixture(scope="module")
def fieldflame() -> Iterator[Running]:
    """One Fieldflame for the tests of a file, which leave its data folder whole: a first start is the slow part."""
    parent = Path(tempfile.mkdtemp(prefix="fieldflame-up-"))
    one = Running(parent / "var")
    yield one
    one.stop()
    shutil.rmtree(parent, ignore_errors=True)


@pytest.fixture
def running(fieldflame: Running) -> Running:
    """It, running, with a project `shop` whose key is `shop`; as the test before left it, if it left it running."""
    if not fieldflame.is_running():
        fieldflame.start()
    has_shop = fieldflame.folder.path / "has_shop"
    if not has_shop.exists():
        made = run_manage("create_project", "shop", "--key", "shop", "--origin", "*", data=fieldflame.folder.path)
        assert made.returncode == 0, made.stderr
        assert made.stdout.strip() == '{"slug": "shop", "key": "shop"}'
        has_shop.touch()
    return fieldflame


@pytest.fixture
def stopped(fieldflame: Running) -> Path:
    """The data folder that it has run in, with nothing running there."""
    if not fieldflame.log.exists():
        fieldflame.start()
    fieldflame.stop()
    return fieldflame.folder.path
