"""The proof that CI needs one command: a running Fieldflame labels earlier and later traces by itself."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ops.supervisor.running import RunningStack
from tests.acceptance.corpus_stack import database, post_until_accepted
from tests.aggregate.sourcemaps.shop import BUNDLE, write_shop_map
from tests.envelopes import make_envelope

pytestmark = [pytest.mark.stack, pytest.mark.slow(20)]

LIMIT_S = 180.0  # labelling waits for its turn: the demo has two dozen maps
# As docs/source-maps.md has it.
COMMAND = """
tar -czf - -C dist . | curl --fail-with-body --silent --show-error --retry 3 \\
    -H "Authorization: Bearer $TOKEN" --data-binary @- \\
    "$ADDRESS?release=1.0.0&url_prefix=https://shop.example/"
"""


@pytest.fixture
def stack(whole_stack: RunningStack) -> RunningStack:
    """A stack without a sweep, which would hide that a notification is missing."""
    return whole_stack


def post(stack: RunningStack, view: str, columns: list[int]) -> None:
    """Posts a trace of one sample for each function at some columns of the shop's bundle."""
    trace = {
        "resources": ["https://shop.example/main.js"],
        "frames": [{"name": "", "resourceId": 0, "line": 1, "column": column} for column in columns],
        "stacks": [{"frameId": frame} for frame in range(len(columns))],
        "samples": [{"timestamp": 10 * frame, "stackId": frame} for frame in range(len(columns))],
    }
    post_until_accepted(stack.port, "shop", json.dumps(make_envelope(view, trace=trace)).encode())


def wait_for(stack: RunningStack, token: str, functions: int) -> dict[str, Any]:
    """Waits until that many functions have a label; returns the listed script."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        listed = stack.read("shop", token, "sourcemaps")["source_maps"]
        if listed and listed[0]["functions"] == functions:
            script: dict[str, Any] = listed[0]
            return script
        time.sleep(0.1)
    raise TimeoutError(f"{functions} functions have no label after {LIMIT_S} s")


def test_functions_are_labelled_whether_the_map_or_the_trace_comes_first(stack: RunningStack, tmp_path: Path) -> None:
    reader = stack.create_project("shop")
    token = json.loads(stack.manage("create_token", "--project", "shop", "--scope", "sourcemaps"))["token"]
    post(stack, "early", [11])
    stack.wait_until_folded({"shop": reader})
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "main.js").write_bytes(BUNDLE)
    (tmp_path / "dist" / "main.js.map").write_bytes(write_shop_map())
    address = f"{stack.url}/api/v1/projects/shop/sourcemaps"
    environment = {**os.environ, "TOKEN": token, "ADDRESS": address}
    done = subprocess.run(["sh", "-c", COMMAND], cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert json.loads(done.stdout)["scripts"][0]["match"] == "sourceMappingURL"
    assert wait_for(stack, token, 1)["state"] == "labelled"
    post(stack, "late", [11, 28])
    script = wait_for(stack, token, 2)
    assert (script["mapped"], script["failure"]) == (2, None)
    with database(stack) as connection:
        rows = connection.execute(
            """SELECT l.name, l.line, l.col FROM aggregate_label l JOIN projects_project p ON p.id = l.project_id
               WHERE p.slug = 'shop' ORDER BY l.col"""
        ).fetchall()
    assert rows == [(None, 2, 19), ("double", 1, 23)]


def test_a_wrong_token_fails_the_build(stack: RunningStack, tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    environment = {
        **os.environ,
        "TOKEN": "ff_00000000_x",
        "ADDRESS": f"{stack.url}/api/v1/projects/shop/sourcemaps",
    }
    done = subprocess.run(["sh", "-c", COMMAND], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode != 0
