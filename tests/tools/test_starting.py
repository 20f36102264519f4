"""`./run benchmarks` and `./run tools` list their programs, and start the one that is named."""

import subprocess
import sys
from importlib import import_module

import pytest

from ops.supervisor.services import BASE_DIR
from tools.starting import find_programs

PACKAGES = ("benchmarks", "tools")


def start(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=BASE_DIR, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("package", PACKAGES)
def test_each_program_is_listed_with_what_it_does(package: str) -> None:
    listed = start(package).stdout.splitlines()
    for name, program in find_programs(package).items():
        assert program.summary.endswith((".", "?")), name
        assert any(line.startswith(f"{name} ") and program.summary in line for line in listed)


def test_an_unknown_name_is_refused_with_a_sentence() -> None:
    done = start("tools", "take-photographs")
    assert done.returncode == 1
    assert done.stderr == "There is no program 'take-photographs'; `./run tools` lists all.\n"


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package in PACKAGES for name in find_programs(package)]
)
def test_each_program_explains_its_options(
    package: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [f"./run {package} {name}", "--help"])
    with pytest.raises(SystemExit) as ended:
        import_module(find_programs(package)[name].module).main()
    assert ended.value.code == 0
    assert f"run {package} {name}" in capsys.readouterr().out
