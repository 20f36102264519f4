"""The verdict on each recorded app, over HTTP: the page that a release slowed down comes first, no other is slower."""

import http.client
import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from ops.supervisor.running import RunningStack
from tests.acceptance.comparing import regressions
from tests.acceptance.corpus.oracle import APPS
from tests.acceptance.corpus.projects import create_projects
from tests.corpus import corpus_envelopes

pytestmark = [pytest.mark.stack, pytest.mark.slow(40)]
PACKAGE: Final = Path(__file__).parents[3] / "packages" / "fieldflame"
LIMIT_S: Final = 300
SIDES = "base_release=1.0.0&head_release=1.1.0"
Read = tuple[RunningStack, dict[str, str]]


@pytest.fixture(scope="module")
def recorded(whole_stack: RunningStack) -> Read:
    """A running stack with the corpus as it was recorded, in projects of its own; with a token for each."""
    tokens = create_projects(whole_stack, [f"as-recorded-{app}" for app in APPS])
    with closing(http.client.HTTPConnection("127.0.0.1", whole_stack.port, timeout=120)) as connection:
        for app, envelope in corpus_envelopes():
            connection.request("POST", f"/ingest/v1/traces?key=as-recorded-{app}", json.dumps(envelope).encode())
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (202, b'{"accepted":1,"rejected":[]}')
    whole_stack.wait_until_folded(tokens)
    return whole_stack, tokens


def verdict_of(read: Read, app: str, query: str) -> dict[str, Any]:  # Any: an answer of the read API
    stack, tokens = read
    name = f"as-recorded-{app}"
    verdict: dict[str, Any] = stack.read(name, tokens[name], f"verdict?{query}")
    return verdict


@pytest.mark.parametrize("app", regressions(), ids=lambda app: app["app"])
def test_the_slowed_page_leads_the_verdict(recorded: Read, app: dict[str, Any]) -> None:  # Any: as recorded
    verdict = verdict_of(recorded, app["app"], SIDES)
    assert (verdict["state"], verdict["scope"]) == ("slower", "page"), verdict["sentence"]
    assert verdict["page"] in app["affectedPages"], verdict["sentence"]
    states = {page["page"]: page["state"] for page in verdict["pages"]}
    assert {page for page, state in states.items() if state == "slower"} <= set(app["affectedPages"]), states
    assert verdict["ci95"][0] > 0
    assert verdict["looks"] == 1


@pytest.mark.parametrize("app", regressions(), ids=lambda app: app["app"])
def test_a_page_without_a_change_gets_no_verdict(recorded: Read, app: dict[str, Any]) -> None:  # Any: as recorded
    for page in set(app["pages"]) - set(app["affectedPages"]):
        verdict = verdict_of(recorded, app["app"], f"{SIDES}&page={page}")
        assert verdict["state"] == "no_clear_change", verdict["sentence"]
        assert verdict["culprits"] == []
        assert verdict["smallest_visible_change"]["delta_ms_per_view"] > 0


def run_check(read: Read, app: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command of builds, which knows the server by its address only."""
    stack, tokens = read
    name = f"as-recorded-{app}"
    known = {"FIELDFLAME_URL": stack.url, "FIELDFLAME_TOKEN": tokens[name], "PYTHONPATH": str(PACKAGE)}
    command = [sys.executable, "-m", "fieldflame", "check", "--project", name, "--release", "1.1.0", *arguments]
    return subprocess.run(
        command, env={**os.environ, **known}, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )


@pytest.mark.parametrize("app", regressions(), ids=lambda app: app["app"])
def test_a_build_is_failed_by_the_slowed_page_and_by_no_other(
    recorded: Read, app: dict[str, Any]
) -> None:  # Any: as recorded
    done = run_check(recorded, app["app"], "--base", "1.0.0")
    assert done.returncode == 1, done.stdout + done.stderr
    assert any(f"1.1.0 made {page} slower" in done.stdout for page in app["affectedPages"]), done.stdout
    assert recorded[1][f"as-recorded-{app['app']}"] not in done.stdout + done.stderr
    others = [word for page in set(app["pages"]) - set(app["affectedPages"]) for word in ("--page", page)]
    if others:
        quiet = run_check(recorded, app["app"], "--base", "1.0.0", *others)
        assert quiet.returncode == 0, quiet.stdout + quiet.stderr
