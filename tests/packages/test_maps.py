"""Our own plugin for bundlers: its debug ids name the maps, and its upload's errors are told."""

import os
import shutil
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings
from pytest_django.live_server_helper import LiveServer

from aggregate.label_models import ReleaseScript
from projects.creation import create_project
from projects.models import Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all
from tests.ingest.endpoint.posting import IngestServer
from tests.ingest.sdks.map_builds import (
    NAMES,
    URL,
    build,
    find_node,
    labels,
    node,
    post_trace,
    read_ids,
    run,
    skip_without_packages,
    write_source,
)

pytestmark = [pytest.mark.slow(15), pytest.mark.django_db(transaction=True)]

PLUGIN: Final = Path(settings.BASE_DIR) / "packages/fieldflame-maps/index.mjs"


@pytest.fixture(autouse=True)
def _has_packages() -> None:
    skip_without_packages()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_source(tmp_path / "src")


@pytest.fixture
def endpoint(transactional_db: None) -> IngestServer:
    project, key = create_project(slug="shop", key="shop-key", origins=["*"])
    return IngestServer(project_id=project.pk, key=key.public_key)


@pytest.fixture
def token(endpoint: IngestServer) -> str:
    _, clear = create_token(project=Project.objects.get(), scopes=["sourcemaps"])
    return clear


@pytest.mark.parametrize("bundler", ["vite", "esbuild", "rolldown"])
def test_the_plugin_uploads_what_traces_name(
    endpoint: IngestServer, live_server: LiveServer, source: Path, tmp_path: Path, token: str, bundler: str
) -> None:
    target = tmp_path / "dist"
    done = node("our_builds.mjs", bundler, str(source), str(target), live_server.url + "/", token)
    assert "1 scripts with debug ids uploaded for release 1.4.0." in done.stdout
    [script] = (target / "assets").glob("*.js")
    text = script.read_text()
    assert text.startswith('"use strict";') is (bundler == "esbuild")
    post_trace(endpoint, text, debugIds=read_ids(text))
    fold_all()
    assert labels(endpoint.project_id) == NAMES
    assert ReleaseScript.objects.get().uri == URL
    # The same build again is the same.
    node("our_builds.mjs", bundler, str(source), str(target), live_server.url, token)
    assert script.read_text() == text


def upload(folder: Path, live_server: LiveServer, token: str, **more: str):  # type: ignore[no-untyped-def]  # its process
    program = find_node()
    named = {"URL": live_server.url, "TOKEN": token, "PROJECT": "shop", "RELEASE": "1.4.0", **more}
    environment = {f"FIELDFLAME_{name}": value for name, value in named.items()}
    return run(program, str(PLUGIN), str(folder), **environment)


def test_a_folder_is_uploaded_after_any_bundler(
    endpoint: IngestServer, live_server: LiveServer, source: Path, tmp_path: Path, token: str
) -> None:
    script = build(source, tmp_path / "dist")
    for name in ("no-map.js", "server.cjs", "server.cjs.map"):
        (script.parent / name).write_text("#!/usr/bin/env node\n" if name == "server.cjs" else "{}")
    done = upload(script.parent, live_server, token)
    assert done.returncode == 1
    assert "fieldflame: 422 Some files were left out. server.cjs.map ($" in done.stderr
    text = script.read_text()
    assert (script.parent / "no-map.js").read_text() == "{}"
    upload(script.parent, live_server, token)
    assert script.read_text() == text  # it has its id
    post_trace(endpoint, text, debugIds=read_ids(text))
    fold_all()
    assert labels(endpoint.project_id) == NAMES


def test_what_goes_wrong_is_told(
    endpoint: IngestServer, live_server: LiveServer, source: Path, tmp_path: Path, token: str
) -> None:
    empty = upload(source, live_server, token)
    assert (empty.returncode, empty.stderr.count("no script below")) == (1, 1)
    folder = build(source, tmp_path / "dist").parent
    assert "fieldflame: 404 There is no such project." in upload(folder, live_server, token, PROJECT="other").stderr
    assert "fieldflame: 401 This token is unknown" in upload(folder, live_server, "ff_00000000_x").stderr
    assert upload(folder, live_server, token).returncode == 0
    assert shutil.which("tar", path=os.environ["PATH"])
