"""What the chart renders, kept beside the tests: `python -m tests.deploy.chart.rendering` writes it again, by helm.

So the manifests are checked on machines without helm. Their first line has a digest of the chart's files, which shows
that they are not of an older one.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.files import DEPLOY

CHART = DEPLOY / "chart"
FOLDER = Path(__file__).parent
KUBERNETES = "1.35.0"
# The values that a kept rendering is made with.
RENDERED = {
    "default": ("--set", "hosts={profiles.example.com}"),
    "everything": ("--values", str(FOLDER / "everything.values.yaml")),
}


def digest_sources() -> str:
    """Returns a digest of all that a rendering depends on."""
    sources = [*sorted(CHART.rglob("*")), FOLDER / "everything.values.yaml"]
    digest = hashlib.sha256()
    for path in sources:
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def run_helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["helm", *arguments], capture_output=True, text=True, check=False)


def render(name: str) -> str:
    """Returns the manifests for one set of values. Needs helm."""
    options = ("--namespace", "profiles", "--kube-version", KUBERNETES, *RENDERED[name])
    done = run_helm("template", "fieldflame", str(CHART), *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kept(name: str) -> Path:
    return FOLDER / f"{name}.rendered.yaml"


def read_documents(name: str) -> list[dict[str, Any]]:  # Any: foreign documents
    """Returns the manifests of a kept rendering."""
    return [document for document in yaml.safe_load_all(kept(name).read_text(encoding="utf-8")) if document]


def main() -> int:
    if shutil.which("helm") is None:
        print("helm is not installed on this machine.", file=sys.stderr)
        return 1
    for name in RENDERED:
        kept(name).write_text(f"# chart {digest_sources()}\n{render(name)}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
