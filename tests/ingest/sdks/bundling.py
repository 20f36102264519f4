"""Other products' browser SDKs, bundled from tests/node."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings

FOLDER: Final = Path(settings.BASE_DIR)
PACKAGES: Final = {"sentry": "@sentry/browser", "sentry10": "@sentry/browser-10", "datadog": "@datadog"}


def bundle_sdk(name: str, folder: Path) -> str:
    """Returns an SDK as one script; skips the test where Node or its packages are missing."""
    node = shutil.which("node") or shutil.which("node", path=str(Path(sys.executable).parent))
    esbuild = FOLDER / "ingest/snippet/node_modules/esbuild/bin/esbuild"
    if node is None or not esbuild.exists() or not (FOLDER / "tests/node/node_modules" / PACKAGES[name]).exists():
        pytest.skip("no Node or no packages: run `npm ci` in ingest/snippet and tests/node")
    target = folder / f"{name}.js"
    command = [str(esbuild), f"tests/node/{name}.mjs", "--bundle", "--format=iife", f"--outfile={target}"]
    subprocess.run(command, cwd=FOLDER, check=True, capture_output=True, timeout=120)
    return target.read_text()
