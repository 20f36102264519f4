"""`fieldflame lsp` and its clients: one of the official library, and a headless Neovim."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pytest_django.live_server_helper import LiveServer

from projects.models import Project
from projects.tokens import create_token
from tests.packages.conftest import PACKAGES
from tests.packages.coroutines import run_coroutine
from tests.packages.measured_app import EDITED, SOURCE, make_app

pytestmark = [pytest.mark.stack, pytest.mark.slow(20), pytest.mark.django_db(transaction=True)]
WAIT_S: Final = 60
NEOVIM: Final = """\
local id = vim.lsp.start_client({
  name = "fieldflame", cmd = vim.json.decode(vim.env.COMMAND), root_dir = vim.env.ROOT,
})
vim.cmd("edit " .. vim.env.ROOT .. "/web/src/table.ts")
vim.lsp.buf_attach_client(0, id)
vim.wait(60000, function() return vim.lsp.get_client_by_id(id) and vim.lsp.get_client_by_id(id).initialized end, 50)
local params = { textDocument = vim.lsp.util.make_text_document_params() }
local answers = vim.lsp.buf_request_sync(0, "textDocument/codeLens", params, 60000)
io.stdout:write(vim.json.encode(answers[id].result))
vim.lsp.stop_client(id)
vim.cmd("qa!")
"""


@pytest.fixture
def app(transactional_db: None) -> Project:
    return make_app()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that is open in the editor. The map's `src/` is below `web/`."""
    file = tmp_path / "web" / "src" / "table.ts"
    file.parent.mkdir(parents=True)
    file.write_text(EDITED)
    return tmp_path


def make_environment(project: Project, server: LiveServer) -> dict[str, str]:
    _, clear = create_token(project=project, scopes=["read"])
    return {
        **os.environ,
        "PYTHONPATH": str(PACKAGES / "fieldflame"),
        "FIELDFLAME_URL": server.url,
        "FIELDFLAME_TOKEN": clear,
    }


Asked = tuple[list[types.CodeLens], types.Hover | None, types.Hover | None, list[types.CodeLens]]
COMMAND: Final = (sys.executable, "-m", "fieldflame", "lsp", "--project", "app")
SHOWN: Final = [
    (0, "1 function was measured in 2.0.0, and is not in this file any more"),
    (1, "50 ms per view (50 to 50 ms) · in 100 % of views · +30 ms in 2.0.0 · stale: the file has changed since 2.0.0"),
    (2, "10 ms per view (10 to 10 ms) · in 100 % of views · stale: the file has changed since 2.0.0"),
]


def test_a_client_gets_lenses_and_hovers(app: Project, checkout: Path, live_server: LiveServer) -> None:
    uri = (checkout / "web" / "src" / "table.ts").as_uri()
    document, environment = types.TextDocumentIdentifier(uri), make_environment(app, live_server)

    async def ask() -> Asked:
        client = LanguageClient("test", "1")
        await client.start_io(*COMMAND, env=environment)
        folder = types.WorkspaceFolder(checkout.as_uri(), "app")
        capabilities = types.ClientCapabilities()
        await client.initialize_async(types.InitializeParams(capabilities, workspace_folders=[folder]))
        client.initialized(types.InitializedParams())
        opened = types.TextDocumentItem(uri, "typescript", 1, EDITED)
        client.text_document_did_open(types.DidOpenTextDocumentParams(opened))
        lenses = await client.text_document_code_lens_async(types.CodeLensParams(document))
        hover = await client.text_document_hover_async(types.HoverParams(document, types.Position(1, 20)))
        nowhere = await client.text_document_hover_async(types.HoverParams(document, types.Position(4, 0)))
        back = types.TextDocumentContentChangeWholeDocument(SOURCE)
        changed = types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(2, uri), [back])
        client.text_document_did_change(changed)
        after = await client.text_document_code_lens_async(types.CodeLensParams(document))
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()  # type: ignore[no-untyped-call]
        return list(lenses or ()), hover, nowhere, list(after or ())

    async def ask_in_time() -> Asked:
        return await asyncio.wait_for(ask(), WAIT_S)

    lenses, hover, nowhere, after = run_coroutine(ask_in_time())
    assert sorted((lens.range.start.line, lens.command.title) for lens in lenses if lens.command) == SHOWN
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert "Script and hidden time, measured in `2.0.0`." in hover.contents.value
    assert "it was in line 1 then" in hover.contents.value
    assert f"[Details]({live_server.url}/projects/app/functions/" in hover.contents.value
    assert nowhere is None
    assert sorted(lens.range.start.line for lens in after) == [0, 1, 6]
    assert not any("stale" in lens.command.title for lens in after if lens.command)


def test_what_is_wrong_is_said_once_and_the_editor_goes_on(
    app: Project, checkout: Path, live_server: LiveServer
) -> None:
    uri = (checkout / "web" / "src" / "table.ts").as_uri()
    document, environment = types.TextDocumentIdentifier(uri), make_environment(app, live_server)
    shown: list[str] = []

    async def ask() -> list[object]:
        client = LanguageClient("test", "1")

        @client.feature(types.WINDOW_SHOW_MESSAGE)  # type: ignore[untyped-decorator]
        def hear(params: types.ShowMessageParams) -> None:
            shown.append(params.message)

        await client.start_io(*COMMAND, env={**environment, "FIELDFLAME_TOKEN": "ff_unknown"})
        folder = types.WorkspaceFolder(checkout.as_uri(), "app")
        await client.initialize_async(types.InitializeParams(types.ClientCapabilities(), workspace_folders=[folder]))
        opened = types.TextDocumentItem(uri, "typescript", 1, EDITED)
        client.text_document_did_open(types.DidOpenTextDocumentParams(opened))
        answers = [await client.text_document_code_lens_async(types.CodeLensParams(document)) for _ in range(2)]
        other = types.TextDocumentIdentifier(uri.replace(".ts", ".md"))
        answers.append(await client.text_document_code_lens_async(types.CodeLensParams(other)))
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()  # type: ignore[no-untyped-call]
        return list(answers)

    async def ask_in_time() -> list[object]:
        return await asyncio.wait_for(ask(), WAIT_S)

    assert run_coroutine(ask_in_time()) == [(), (), ()]
    assert len(shown) == 1
    assert "does not know the token" in shown[0]
    assert "ff_unknown" not in shown[0]


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_a_headless_neovim_gets_the_same_lenses(
    app: Project, checkout: Path, live_server: LiveServer, tmp_path: Path
) -> None:
    script = tmp_path / "ask.lua"
    script.write_text(NEOVIM)
    environment = {**make_environment(app, live_server), "COMMAND": json.dumps(COMMAND), "ROOT": str(checkout)}
    done = subprocess.run(
        ["nvim", "--clean", "--headless", "-i", "NONE", "-S", str(script)],
        env={**environment, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=3 * WAIT_S,
    )
    assert done.stdout, done.stderr
    lenses = json.loads(done.stdout)
    assert sorted((lens["range"]["start"]["line"], lens["command"]["title"]) for lens in lenses) == SHOWN
