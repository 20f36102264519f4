"""The secret that signs sessions and links: no process ever serves with one that others may know or do not share."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SERVE = "import config.wsgi"
PRINT_SECRET = "import django; django.setup(); from django.conf import settings; print(settings.SECRET_KEY)"


def run_python(code: str, data: Path, **more: str) -> subprocess.CompletedProcess[str]:
    names = ("FIELDFLAME_SECRET_KEY", "FIELDFLAME_REQUIRE_SECRET")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment |= {"FIELDFLAME_DATA": str(data), "DJANGO_SETTINGS_MODULE": "config.settings", **more}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_without_a_secret_the_web_server_does_not_start_and_says_what_to_set(tmp_path: Path) -> None:
    done = run_python(SERVE, tmp_path)
    assert done.returncode != 0
    assert "set FIELDFLAME_SECRET_KEY" in done.stderr


@pytest.mark.parametrize("where", ["variable", "data folder"])
def test_with_a_secret_it_starts(tmp_path: Path, where: str) -> None:
    if where == "data folder":
        (tmp_path / "secret_key").write_text("a long secret\n")
        assert run_python(SERVE, tmp_path).returncode == 0
    else:
        assert run_python(SERVE, tmp_path, FIELDFLAME_SECRET_KEY="a long secret").returncode == 0


def test_a_command_without_a_secret_has_one_that_nobody_knows(tmp_path: Path) -> None:
    first, second = (run_python(PRINT_SECRET, tmp_path).stdout.strip() for _ in range(2))
    assert len(first) > 40
    assert first != second
