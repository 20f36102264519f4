"""The changelog has one form, so that operators find in each release what to do before they upgrade."""

import re
import subprocess
import tomllib
from typing import Final

import pytest

from profcore.sums.fold import FOLD_VERSION
from tests.house.changelog import UPGRADE, find_faults, read_changelog
from tests.house.tree import ROOT
from tests.schema.findings import KEPT
from tests.schema.previous import find_previous

FOLD: Final = "profcore/sums/fold.py"


def read_before(path: str) -> str:
    """Returns what a file, or `git ls-tree` for a folder, was in the release before; skips without history."""
    words = ["show", f"{find_previous()}:{path}"]
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the history of this clone does not have {find_previous()}")
    return done.stdout


def test_the_changelog_has_its_form() -> None:
    assert find_faults(read_changelog()) == []


def write(*sections: tuple[str, str]) -> str:
    """Returns a changelog of releases, each with its heading and its text."""
    return "".join(f"## {heading}\n{text}\n" for heading, text in sections)


NOTES: Final = f"### {UPGRADE}\nNothing."


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (write(("Unreleased", "### Speed\n- Fast.")), "the first section is not"),
        (write(("Unreleased", f"### {UPGRADE}\n- Stop it")), "no full stop"),
        (write(("Unreleased", f"### {UPGRADE}\nSome words.")), "does not begin with a list"),
        (write(("Unreleased", NOTES), ("1.0", NOTES)), "not a heading"),
        (write(*((name, NOTES) for name in ("Unreleased", "1.0.0 (2027-01-01)", "1.1.0 (2027-02-01)"))), "newest"),
    ],
)
def test_a_fault_is_found(text: str, fault: str) -> None:
    assert any(fault in found for found in find_faults(read_changelog(text)))


def test_the_version_is_that_of_the_newest_release_or_newer() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    released = [notes.version for notes in read_changelog() if notes.version is not None]
    assert tuple(map(int, version.split("."))) >= max(released, default=(0, 0, 0))


def test_newer_rules_of_folding_are_in_the_upgrade_notes() -> None:
    found = re.search(r"^FOLD_VERSION.*= (\d+)$", read_before(FOLD), re.MULTILINE)
    assert found is not None
    if int(found[1]) != FOLD_VERSION:
        assert "rules of folding" in read_changelog()[0].sections[UPGRADE]


def test_migrations_that_break_or_block_are_in_the_upgrade_notes() -> None:
    before = {app: read_before(f"{app}/migrations/") for app in ("ingest", "aggregate")}
    notes = read_changelog()[0].sections[UPGRADE]
    for migration, rule in KEPT:
        app, _, name = migration.partition(".")
        if f"{name}.py" not in before[app]:
            assert f"{app} {name[:4]}" in notes, f"{migration} has {rule}: say what operators must do"
