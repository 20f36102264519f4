"""Each secret may come from a file that `NAME_FILE` names, and a wrong file stops the start with one sentence."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.env import read_database, read_secret, take_in_secret

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("a secret with a space \r\n")
    return path


def test_a_secret_is_read_from_its_file_without_the_last_line_break(secret_file: Path) -> None:
    assert read_secret("KEY", "", {"KEY_FILE": str(secret_file)}) == "a secret with a space "


def test_without_a_file_the_variable_counts_then_the_default() -> None:
    assert read_secret("KEY", "default", {"KEY": "own", "KEY_FILE": ""}) == "own"
    assert read_secret("KEY", "default", {}) == "default"


def test_both_at_once_are_refused(secret_file: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="KEY or KEY_FILE, not both"):
        read_secret("KEY", "", {"KEY": "own", "KEY_FILE": str(secret_file)})


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff"])
def test_a_file_that_is_missing_empty_or_no_text_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ImproperlyConfigured, match=f"KEY_FILE names {re.escape(str(path))}"):
        read_secret("KEY", "", {"KEY_FILE": str(path)})


def test_the_database_may_be_named_by_a_file(tmp_path: Path) -> None:
    path = tmp_path / "url"
    path.write_text("postgresql://me:secret@db.example/shop\n")
    fields = read_database("DATABASE_URL", "postgresql://nobody@localhost/no", {"DATABASE_URL_FILE": str(path)})
    assert (fields["HOST"], fields["PASSWORD"]) == ("db.example", "secret")


def test_the_supervisor_takes_an_address_in_and_forgets_its_file(secret_file: Path) -> None:
    environ = {"REDIS_URL_FILE": str(secret_file)}
    take_in_secret("REDIS_URL", environ)
    assert environ == {"REDIS_URL": "a secret with a space "}


def test_every_setting_that_is_a_secret_is_documented_with_its_file() -> None:
    code = (ROOT / "config" / "settings.py").read_text()
    documented = (ROOT / "docs" / "settings.md").read_text()
    names = {*re.findall(r'read_(?:secret|database)\(\s*"(\w+)"', code)}
    assert {"FIELDFLAME_SECRET_KEY", "DATABASE_URL"} <= names
    assert {name for name in names if f"`{name}_FILE`" not in documented} == set()
    # Names that sound like secrets and are read otherwise.
    assert re.findall(r'read_str\(\s*"(\w*(?:SECRET|TOKEN|PASSWORD)\w*)"', code) == []


def test_a_command_names_the_file_that_it_cannot_read(tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL_FILE": str(tmp_path / "none")}
    environment.pop("DATABASE_URL", None)
    done = subprocess.run(
        [sys.executable, "manage.py", "version"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.strip().endswith("cannot be read: No such file or directory.")
    assert "Traceback" not in done.stderr
