"""Sentry's real tools upload the maps of real builds to us, and traces of these builds get their sources' names."""

import subprocess
from pathlib import Path
from typing import Final

import pytest
from pytest_django.live_server_helper import LiveServer

from aggregate.label_models import ReleaseScript, UploadChunk
from projects.models import AnnouncedRelease, Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all
from tests.deploy.below_path.serving import run_below_path
from tests.ingest.endpoint.posting import IngestServer
from tests.ingest.sdks.map_builds import (
    NAMES,
    NODE,
    URL,
    build,
    labels,
    node,
    post_trace,
    read_ids,
    run,
    skip_without_packages,
    write_source,
)

pytestmark = [pytest.mark.slow(15), pytest.mark.django_db(transaction=True)]

CLI: Final = NODE / "node_modules/@sentry/cli-linux-x64/bin/sentry-cli"


@pytest.fixture(autouse=True)
def _has_packages() -> None:
    skip_without_packages()
    if not CLI.exists():
        pytest.skip("the packages of another system")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_source(tmp_path / "src")


@pytest.fixture
def token(open_endpoint: IngestServer) -> str:
    _, clear = create_token(project=Project.objects.get(), scopes=["sourcemaps"])
    return clear


def sentry_cli(url: str, token: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    named = {"SENTRY_URL": url, "SENTRY_AUTH_TOKEN": token, "SENTRY_ORG": "any", "SENTRY_PROJECT": "shop"}
    return run(str(CLI), *arguments, **named)


@pytest.mark.parametrize("bundler", ["esbuild", "vite"])
def test_the_plugins_of_bundlers_upload(
    open_endpoint: IngestServer, live_server: LiveServer, source: Path, tmp_path: Path, token: str, bundler: str
) -> None:
    target = tmp_path / "dist"
    node("builds.mjs", bundler, str(source), str(target), live_server.url, token)
    [built] = (target / "assets").glob("*.js")
    assert UploadChunk.objects.count() == 0
    [script] = ReleaseScript.objects.all()
    assert (script.release, script.uri.partition("/")[0]) == ("1.4.0", "~")
    assert script.map_id
    ids = read_ids(built.read_text())
    post_trace(open_endpoint, built.read_text(), debugIds=ids)
    fold_all()
    assert labels(open_endpoint.project_id) == NAMES
    [script] = ReleaseScript.objects.all()
    assert (script.uri, str(script.debug_id)) == (URL, *ids.values())


def test_the_command_injects_and_uploads_before_or_after_the_traces(
    open_endpoint: IngestServer, live_server: LiveServer, source: Path, tmp_path: Path, token: str
) -> None:
    script = build(source, tmp_path / "dist")
    assert sentry_cli(live_server.url, token, "sourcemaps", "inject", str(script.parent)).returncode == 0
    ids = read_ids(script.read_text())
    post_trace(open_endpoint, script.read_text(), release="theirs", debugIds=ids)
    fold_all()
    assert labels(open_endpoint.project_id) == []
    # Without a release, as a debug id needs none. The traces say theirs.
    done = sentry_cli(live_server.url, token, "sourcemaps", "upload", str(script.parent))
    assert done.returncode == 0, done.stderr
    assert labels(open_endpoint.project_id) == NAMES
    found = ReleaseScript.objects.order_by("release").values_list("release", "uri")
    assert list(found) == [("(unknown)", "~/main.js"), ("theirs", URL)]
    assert not AnnouncedRelease.objects.exists()


def test_the_command_uploads_by_the_scripts_addresses(
    open_endpoint: IngestServer, live_server: LiveServer, source: Path, tmp_path: Path, token: str
) -> None:
    script = build(source, tmp_path / "dist")
    post_trace(open_endpoint, script.read_text())
    fold_all()
    where = ["--release", "1.4.0", "--url-prefix", "https://shop.example/assets"]
    done = sentry_cli(live_server.url, token, "sourcemaps", "upload", *where, str(script.parent))
    assert done.returncode == 0, done.stderr
    assert labels(open_endpoint.project_id) == NAMES


def test_below_a_path_the_command_is_let_through_at_the_root(
    open_endpoint: IngestServer, source: Path, tmp_path: Path, token: str
) -> None:
    script = build(source, tmp_path / "dist")
    where = ["--release=1.4.0", "--url-prefix=https://shop.example/assets"]
    with run_below_path(tmp_path) as server:
        # It takes no address with a path; what it is answered has it.
        done = sentry_cli(f"http://127.0.0.1:{server.port}", token, "sourcemaps", "upload", *where, str(script.parent))
    assert done.returncode == 0, done.stderr
    assert ReleaseScript.objects.get().uri == URL


def test_the_command_prints_what_is_wrong(
    open_endpoint: IngestServer, live_server: LiveServer, source: Path, tmp_path: Path, token: str
) -> None:
    folder = str(build(source, tmp_path / "dist").parent)
    done = sentry_cli(live_server.url, token, "sourcemaps", "upload", "--release=1.4.0", folder)
    assert done.returncode == 1
    assert "main.js ($): it has no debug id, so say where it is served" in done.stderr
    done = sentry_cli(live_server.url, token, "sourcemaps", "upload", "--release=1.4.0", "--project=other", folder)
    assert "This token is for the project shop, not for 'other'." in done.stderr
    _, reader = create_token(project=Project.objects.get(), scopes=["read"])
    done = sentry_cli(live_server.url, reader, "sourcemaps", "upload", "--release=1.4.0", folder)
    assert "This token has the scope read. It needs sourcemaps." in done.stderr
    done = sentry_cli(live_server.url, "ff_00000000_x", "sourcemaps", "upload", "--release=1.4.0", folder)
    assert "This token is unknown, revoked or expired." in done.stderr
    assert sentry_cli(live_server.url, token, "info").returncode == 0
    assert sentry_cli(live_server.url, "ff_00000000_x", "info").returncode == 1
