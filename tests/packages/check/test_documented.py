"""docs/ci.md says what the command does, and its lines for CI systems are accepted and do what they say."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from fieldflame.arguments import make_parser
from fieldflame.exits import Exit

ROOT: Final = Path(__file__).parents[3]
DOCUMENT: Final = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
README: Final = (ROOT / "packages" / "fieldflame" / "README.md").read_text(encoding="utf-8")
LIMIT_S: Final = 300


def blocks_of(kind: str, heading: str) -> list[str]:
    """Returns the blocks of code of a kind below a heading."""
    section = DOCUMENT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)


def list_commands() -> list[str]:
    """Returns each call of the command in the document, on one line."""
    text = re.sub(r"\s*\\\n\s*", " ", DOCUMENT)
    return re.findall(r"(?<![`\w-])fieldflame (?:check|announce|lab) --[^|`\n]*", text)


@pytest.mark.parametrize("line", list_commands())
def test_each_documented_call_is_understood(line: str) -> None:
    arguments = shlex.split(re.split(r" \|\| |'''", line)[0])[1:]
    assert make_parser().parse_args(arguments).project == "shop"


def test_there_are_documented_calls() -> None:
    assert len(list_commands()) >= 9


@pytest.mark.parametrize("text", [DOCUMENT, README], ids=["docs/ci.md", "README.md"])
def test_the_exit_codes_are_documented(text: str) -> None:
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert documented == {int(code) for code in Exit} - {Exit.INTERRUPTED}


@pytest.mark.parametrize("command", ["check", "announce", "lab"])
def test_each_option_is_documented(command: str) -> None:
    (commands,) = (choice for choice in make_parser()._actions if isinstance(choice.choices, dict))
    parsers: Any = commands.choices  # argparse types it as anything that can be walked
    names = {name for action in parsers[command]._actions for name in action.option_strings}
    assert {name for name in names - {"-h", "--help"} if f"`{name}" not in DOCUMENT} == set()


@pytest.mark.parametrize(
    ("schema", "heading", "number"),
    [
        ("github-workflows", "GitHub Actions", 0),
        ("github-workflows", "GitHub Actions", 1),
        ("gitlab-ci", "GitLab CI", 0),
    ],
)
def test_the_lines_for_a_system_are_valid(tmp_path: Path, schema: str, heading: str, number: int) -> None:
    text = blocks_of("yaml", heading)[number]
    if number:  # a step
        job = {"runs-on": "ubuntu-latest", "steps": yaml.safe_load(text)}
        text = yaml.safe_dump({"on": "push", "jobs": {"a": job}})
    file = tmp_path / "lines.yml"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("code", "ends_with"), [(0, 0), (1, 1), (2, 0), (4, 4), (5, 5)])
def test_the_lines_for_github_fail_the_job_unless_there_are_too_few_views(
    tmp_path: Path, code: int, ends_with: int
) -> None:
    workflow: Any = yaml.safe_load(blocks_of("yaml", "GitHub Actions")[0])  # YAML
    (script,) = (step["run"] for step in workflow["jobs"]["field-check"]["steps"] if "check" in step.get("run", ""))
    uvx = tmp_path / "uvx"
    uvx.write_text(f"#!/bin/sh\nexit {code}\n", encoding="utf-8")
    uvx.chmod(0o755)
    known = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "GITHUB_SHA": "c1",
        "GITHUB_STEP_SUMMARY": "s",
        "FIELDFLAME_PACKAGE": "p",
    }
    # As the runner does: bash -e.
    done = subprocess.run(
        ["bash", "-e", "-c", script], env=known, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert done.returncode == ends_with, done.stderr
    assert ("::warning::" in done.stdout) is (code == 2)
