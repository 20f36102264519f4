"""Fixtures for the tests of the supervisor."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from ops.supervisor.folder import DataFolder
from tests.ops.supervisor.running import Running, run_manage
from tests.runner.lending import Lender


@pytest.fixture(autouse=True)
def _remove_outside_sockets(tmp_path: Path) -> Iterator[None]:
    """pytest's folders lie deep, so sockets go below /tmp; tests that use servers without a supervisor leave them."""
    yield
    for path in (tmp_path / "var", tmp_path / "closed" / "var"):
        DataFolder(path).remove_outside_sockets()


@pytest.fixture
def passable() -> Iterator[Path]:
    """A folder that everybody may enter. Every pytest that starts closes the folders of all others of the same user."""
    path = Path(tempfile.mkdtemp(prefix="fieldflame-up-"))
    path.chmod(0o711)
    yield path
    DataFolder(path / "var").remove_outside_sockets()
    shutil.rmtree(path, ignore_errors=True)


@contextmanager
def open_folder() -> Iterator[Running]:
    parent = Path(tempfile.mkdtemp(prefix="fieldflame-up-"))
    one = Running(parent / "var")
    yield one
    one.stop()
    shutil.rmtree(parent, ignore_errors=True)


FIELDFLAME: Final = Lender(open_folder)


@pytest.fixture(scope="module")
def fieldflame(request: pytest.FixtureRequest) -> Iterator[Running]:
    """One Fieldflame for all these tests, which leave its data folder whole: a first start is the slow part."""
    yield from FIELDFLAME.lend(request)


@pytest.fixture
def running(fieldflame: Running) -> Running:
    """The running Fieldflame with a project `shop` whose key is `shop`, in the state that the test before left."""
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
    """The data folder of a Fieldflame that has run and is stopped."""
    if not fieldflame.log.exists():
        fieldflame.start()
    fieldflame.stop()
    return fieldflame.folder.path
