"""A web server may open as many files as it needs for its connections, or says what to change."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from ops.supervisor.folder import DataFolder
from ops.supervisor.messages import StartError
from ops.supervisor.open_files import OTHER_FILES, allow_connections
from ops.supervisor.services import WEB_CONNECTIONS_NAME, WEB_HEADER_WAIT_NAME, WEB_MAX_MB_NAME, make_web_child

SHOW = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"


@pytest.fixture
def low_soft_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell's usual soft limit, as the code reads it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    monkeypatch.setattr("ops.supervisor.open_files.resource.getrlimit", lambda _: (256, hard))


@pytest.mark.usefixtures("low_soft_limit")
def test_a_low_soft_limit_is_raised_for_the_child() -> None:
    enter = allow_connections(300, "NAME")
    done = subprocess.run([sys.executable, "-c", SHOW], preexec_fn=enter, capture_output=True, text=True, check=True)
    assert int(done.stdout) == 300 + OTHER_FILES


def test_a_hard_limit_that_is_too_low_is_said_with_the_number_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.supervisor.open_files.resource.getrlimit", lambda _: (1_024, 1_024))
    with pytest.raises(StartError, match="NAME is 2000, but a process here may open only 1024 files: lower it to 512"):
        allow_connections(2_000, "NAME")


@pytest.mark.parametrize("name", [WEB_CONNECTIONS_NAME, WEB_HEADER_WAIT_NAME, WEB_MAX_MB_NAME])
@pytest.mark.parametrize("text", ["many", "0", "-1", "1e3", "²", ""])
def test_a_setting_that_is_no_number_is_refused_by_its_name(tmp_path: Path, name: str, text: str) -> None:
    folder = DataFolder(tmp_path / "var")
    folder.create()
    with pytest.raises(StartError, match=f"{name} must be a whole number of at least 1"):
        make_web_child(folder, {name: text}, host="127.0.0.1", port=1)
