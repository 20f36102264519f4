"""Builds of a small page by real bundlers, and traces of them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from django.conf import settings

from aggregate.sourcemaps.labelling import label_all
from tests.aggregate.sourcemaps.shop import picture
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestServer

NODE: Final = Path(settings.BASE_DIR) / "tests/node"
URL: Final = "https://shop.example/assets/main.js"
# Each function has a number of its own, by which it is found in a minified script.
TAX: Final = "export function addTax(sum) {\n  for (let i = 0; i < 3; i++) sum *= 1.0725;\n  return sum;\n}\n"
MAIN: Final = """import { addTax } from './tax.js';
class Cart {
  sum(items) { return items.reduce((a, b) => a + b, 8821); }
}
globalThis.total = addTax(new Cart().sum([1, 2]));
"""
NAMES: Final = ["Cart.sum src/main.js:3:3", "addTax src/tax.js:1:17"]
RUN: Final = """const vm = require('node:vm'), [code, filename] = process.argv.slice(1);
const page = vm.createContext({ console }); page.self = page; vm.runInContext(code, page, { filename });
console.log(JSON.stringify(page._sentryDebugIds || page._debugIds));"""


def skip_without_packages() -> None:
    if not (NODE / "node_modules/@sentry/vite-plugin").exists():
        pytest.skip("no Node packages: run `npm ci` in tests/node")


def write_source(folder: Path) -> Path:
    """Writes the sources of a small page into a folder, and returns it."""
    folder.mkdir()
    (folder / "main.js").write_text(MAIN)
    (folder / "tax.js").write_text(TAX)
    (folder / "index.html").write_text("<!doctype html><script type=module src=/main.js></script>")
    return folder


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a tool, without the settings of Sentry that this machine may have."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SENTRY_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"
    return subprocess.run(
        command,
        cwd=NODE,
        env={**clean, "PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def find_node() -> str:
    """Returns the path of the wheel's Node, or of the machine's."""
    program = shutil.which("node", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert program is not None
    return program


def node(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of Node, which must succeed."""
    done = run(find_node(), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def build(source: Path, target: Path) -> Path:
    """Builds with esbuild alone; returns the script."""
    esbuild = NODE / "node_modules/esbuild/bin/esbuild"
    flags = ["--bundle", "--minify", "--sourcemap", f"--outdir={target}"]
    done = run(str(esbuild), str(source / "main.js"), *flags)
    assert done.returncode == 0, done.stderr
    return target / "main.js"


def post_trace(endpoint: IngestServer, script: str, *, release: str = "1.4.0", **fields: Any) -> None:
    """Posts a trace that has both functions of a built script."""
    frames = []
    for pattern in (r"\([^()]*\)\{[^{}]*?\*=1\.0725", r"sum(\([^()]*\)\{)[^{}]*8821"):
        match = re.search(pattern, script)
        assert match is not None, script
        at = match.start(1) if match.lastindex else match.start()
        start = script.rfind("\n", 0, at) + 1
        frames.append({"name": "x", "resourceId": 0, "line": script.count("\n", 0, at) + 1, "column": at - start + 1})
    trace = {
        "resources": [URL],
        "frames": frames,
        "stacks": [{"frameId": 0}, {"frameId": 1}],
        "samples": [{"timestamp": 0, "stackId": 0}, {"timestamp": 10, "stackId": 1}, {"timestamp": 20}],
    }
    assert endpoint.post(make_envelope(release=release, trace=trace, **fields)).status == 202


def read_ids(script: str) -> dict[str, str]:
    """Runs a script; returns the debug ids that it noted, as a page has them."""
    ids: dict[str, str] = json.loads(node("-e", RUN, "--", script, URL).stdout)
    assert ids
    return ids


def labels(project_id: int) -> list[str]:
    label_all()
    return sorted(line.split(" ", 2)[2] for line in picture(project_id).splitlines())
