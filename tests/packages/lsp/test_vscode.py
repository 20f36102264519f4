"""The extension for VS Code: its file is built, has what VS Code reads, and starts nothing before it is set up."""

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any, Final

import pytest

from tests.format_judges import find_node
from tests.packages.conftest import PACKAGES

FOLDER: Final = PACKAGES / "fieldflame-vscode"
LIMIT_S: Final = 120
# Loads the extension with a `vscode` that has what its start needs, and prints what it registered or showed.
HOST: Final = """
const Module = require('node:module');
const [file, settings] = [process.argv[1], JSON.parse(process.argv[2])];
const said = [];
const anything = () => new Proxy(class {}, { get: (has, key) => has[key] ?? anything(), apply: anything });
const api = (known) => new Proxy(known, { get: (has, key) => has[key] ?? anything() });
const vscode = api({
  commands: api({ registerCommand: (name) => said.push(name) }),
  workspace: api({ getConfiguration: () => ({ get: (name) => settings[name] }), onDidChangeConfiguration() {} }),
  window: api({ showErrorMessage: (text) => said.push(text) }),
});
const load = Module._load;
Module._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));
const context = { subscriptions: [], secrets: { get: async () => settings.token, onDidChange() {} } };
require(file).activate(context).then(() => { console.log(JSON.stringify(said)); process.exit(0); });
"""


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the unpacked extension."""
    if not (FOLDER / "node_modules" / "esbuild").is_dir():
        pytest.skip("no packages: run `npm ci` in packages/fieldflame-vscode")
    folder = tmp_path_factory.mktemp("vscode")
    built = folder / "built.vsix"
    done = subprocess.run(
        [find_node(), "build.mjs", str(built)], cwd=FOLDER, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_file_has_what_vs_code_reads(extension: Path) -> None:
    files = {path.relative_to(extension).as_posix() for path in extension.rglob("*") if path.is_file()}
    assert files == {
        "[Content_Types].xml",
        "extension.vsixmanifest",
        "extension/README.md",
        "extension/dist/extension.js",
        "extension/package.json",
    }
    manifest: dict[str, Any] = json.loads((extension / "extension" / "package.json").read_text())
    assert (extension / "extension" / manifest["main"]).is_file()
    listed = (extension / "extension.vsixmanifest").read_text()
    assert f'Version="{manifest["version"]}"' in listed
    assert manifest["contributes"]["configuration"]["properties"]["fieldflame.command"]["scope"] == "machine"


@pytest.mark.parametrize("missing", ["url", "project", "token"])
def test_nothing_starts_before_address_project_and_token_are_known(extension: Path, missing: str) -> None:
    settings: dict[str, Any] = {"url": "http://127.0.0.1:1", "project": "shop", "token": "ff_x", missing: ""}
    settings["command"] = ["/nowhere/fieldflame"]
    bundle = str(extension / "extension" / "dist" / "extension.js")
    done = subprocess.run(
        [find_node(), "-e", HOST, bundle, json.dumps(settings)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert json.loads(done.stdout) == ["fieldflame.setToken"], done.stderr
