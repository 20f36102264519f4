"""docs/settings.md names every setting there is, with the default the code has."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
READ = re.compile(r'read_\w+\(\s*"((?:FIELDFLAME_\w+|DATABASE_URL|REDIS_URL))",?\s*([^,)]*)')
CHILDREN = re.compile(r'_NAME = "(FIELDFLAME_WEB_\w+)"')


def read_settings() -> str:
    """Returns the code that reads the settings."""
    return "".join((ROOT / "config" / name).read_text() for name in ("settings.py", "limits.py"))


def test_every_setting_is_documented() -> None:
    documented = (ROOT / "docs" / "settings.md").read_text()
    names = {name for name, _ in READ.findall(read_settings())}
    names |= set(CHILDREN.findall((ROOT / "ops" / "supervisor" / "services.py").read_text()))
    assert len(names) > 30
    assert {name for name in names if f"`{name}`" not in documented} == set()


def test_documented_numbers_are_the_defaults() -> None:
    documented = (ROOT / "docs" / "settings.md").read_text()
    wrong = []
    for name, default in READ.findall(read_settings()):
        if re.fullmatch(r"[\d_*\s]+", default.strip()):
            number = eval(default)  # a product of numbers, by the pattern above
            row = next(line for line in documented.splitlines() if line.startswith(f"| `{name}`"))
            if not re.match(rf"\| `{name}` \| {number:,}\b", row):
                wrong.append((name, number, row))
    assert wrong == []


def test_no_documented_setting_is_gone() -> None:
    documented = set(re.findall(r"`(FIELDFLAME_\w+)`", (ROOT / "docs" / "settings.md").read_text()))
    paths = [path for name in ("config", "ops") for path in (ROOT / name).rglob("*.py")]
    code = "".join(path.read_text() for path in [*paths, ROOT / "ops" / "supervisor" / "bootstrap.sh"])
    assert {name for name in documented if name.removesuffix("_FILE") not in code} == set()
