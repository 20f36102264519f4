"""Every FIELDFLAME_ variable that deployment and its page name is one that the code reads."""

import re
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY, ROOT

NAME = re.compile(r"\bFIELDFLAME_[A-Z][A-Z_]*[A-Z]\b")
PAGES = [ROOT / "docs" / "operations.md", *sorted((ROOT / "docs").glob("install-*.md"))]
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix != ".pyc" and path.name != ".env")


def read_known_names() -> set[str]:
    sources = [
        ROOT / "config" / "settings.py",
        ROOT / "config" / "limits.py",
        *(ROOT / "ops" / "supervisor").glob("*.py"),
        ROOT / "ops" / "supervisor" / "bootstrap.sh",
    ]
    sources += (ROOT / "ops" / "management" / "commands").glob("*.py")
    return {name for source in sources for name in NAME.findall(source.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("path", [*FILES, *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_name_used_is_known(path: Path) -> None:
    used = {name.removesuffix("_FILE") for name in NAME.findall(path.read_text(encoding="utf-8"))}
    assert used - read_known_names() == set()


def test_the_names_are_found_at_all() -> None:
    used = {name for path in FILES for name in NAME.findall(path.read_text(encoding="utf-8"))}
    assert {"FIELDFLAME_SECRET_KEY", "FIELDFLAME_ALLOWED_HOSTS", "FIELDFLAME_WEB_PROCESSES"} <= used
    assert len(read_known_names()) > 30
