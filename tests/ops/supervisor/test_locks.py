"""The locked requirements: names, versions and hashes, and nothing of the machine that made them."""

import re
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).resolve().parents[3] / "requirements"
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[^]]*\])?==([^ \\;]+)", re.MULTILINE)


def read_pins(name: str) -> dict[str, set[str]]:
    pins: dict[str, set[str]] = {}
    for package, version in PIN.findall((REQUIREMENTS / name).read_text(encoding="utf-8")):
        pins.setdefault(package, set()).add(version)
    return pins


@pytest.mark.parametrize("name", ["kernel.txt", "run.txt", "test.txt", "uv.txt"])
def test_a_lock_names_no_host_and_no_path_of_a_machine(name: str) -> None:
    text = (REQUIREMENTS / name).read_text(encoding="utf-8")
    assert re.findall(r"https?://\S+|file:\S+|--(?:extra-)?index-url|--find-links|(?<![\w.-])/\w+/\S+", text) == []


@pytest.mark.parametrize("name", ["kernel.txt", "run.txt", "test.txt", "uv.txt"])
def test_every_locked_package_has_hashes(name: str) -> None:
    text = (REQUIREMENTS / name).read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[a-z0-9])", text)[1:]
    assert entries
    assert [entry.split("\n")[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_tests_run_with_the_versions_that_run_does() -> None:
    run, test = read_pins("run.txt"), read_pins("test.txt")
    assert run
    assert {name: versions for name, versions in run.items() if test.get(name) != versions} == {}
