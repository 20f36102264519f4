"""`fieldflame mcp` and the official client, which starts it or speaks to it by HTTP."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult
from pytest_django.live_server_helper import LiveServer

from ops.supervisor.running import find_free_port
from projects.models import Project
from projects.tokens import create_token
from tests.dashboard.pages.compare.lab import NEW, OLD, make_lab
from tests.packages.conftest import PACKAGES
from tests.packages.coroutines import run_coroutine

pytestmark = [pytest.mark.stack, pytest.mark.slow(20), pytest.mark.django_db(transaction=True)]
MOST_CALLS: Final = 3
MOST_TOKENS: Final = 2_000
START_S: Final = 60.0
CHARS_A_TOKEN: Final = 4  # of English and JSON, about
Call = tuple[str, dict[str, Any]]
# What people ask, the calls that answer it, and what the answer must have.
QUESTIONS: Final[Sequence[tuple[str, Sequence[Call], Sequence[str]]]] = (
    ("why is /cart slow", [("what_to_fix_first", {"page": "/cart"}), ("function", {"name": "slow"})], ["1. `slow`"]),
    ("what got slower since", [("compare", {"since": "2026-01-01"})], ["Too few page views"]),
    ("is it worth to optimise X", [("function", {"name": "steady"})], ["saves at least", "100 % of page views"]),
    ("who calls X", [("function", {"name": "slow"})], ["Called by: `main` 100 %"]),
    (
        "what did 1.1.0 change",
        [("verdict", {"release": NEW}), ("compare", {"base_release": OLD, "head_release": NEW})],
        ["made `/cart` slower", "- Slower: `came`", "- Faster: `went`"],
    ),
)


@pytest.fixture
def lab(transactional_db: None) -> Project:
    return make_lab(pages=("/cart", "/start"))


def make_environment(server: LiveServer, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(PACKAGES / "fieldflame"),
        "FIELDFLAME_URL": server.url,
        **more,
    }


def make_token(project: Project) -> str:
    return create_token(project=project, scopes=["read"])[1]


def read(result: CallToolResult) -> str:
    """Returns all that a model may read of an answer."""
    assert not result.is_error, result.content
    (block,) = result.content
    return f"{getattr(block, 'text', '')}\n{json.dumps(result.structured_content)}"


def test_five_questions_are_answered_in_few_calls_and_words(
    lab: Project, live_server: LiveServer, tmp_path: Path
) -> None:
    token = make_token(lab)
    environment = make_environment(live_server, FIELDFLAME_TOKEN=token)
    arguments = ["-m", "fieldflame", "mcp", "--project", "lab"]
    start = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    log = tmp_path / "log"

    async def ask() -> list[str]:
        with log.open("w") as errors:
            async with Client(stdio_client(start, errlog=errors)) as client:
                tools = (await client.list_tools()).tools
                assert {tool.name for tool in tools} == {
                    *("verdict", "what_to_fix_first", "function", "compare", "vitals", "alerts", "profile_link")
                }
                assert all(
                    tool.output_schema and tool.annotations and tool.annotations.read_only_hint for tool in tools
                )
                wrong = await client.call_tool("verdict", {"device": "toaster"})
                assert wrong.is_error
                assert "device must be one of" in str(wrong.content)
                return ["\n".join([read(await client.call_tool(*call)) for call in calls]) for _, calls, _ in QUESTIONS]

    for (question, calls, wanted), text in zip(QUESTIONS, run_coroutine(ask()), strict=True):
        assert len(calls) <= MOST_CALLS
        assert len(text) / CHARS_A_TOKEN <= MOST_TOKENS, question
        assert [words for words in wanted if words not in text] == [], question
    assert token not in log.read_text()


def wait_until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    ends_at = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < ends_at:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the server did not begin to listen")


@pytest.fixture
def by_http(live_server: LiveServer, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a server by HTTP, which has no token of its own, and its log."""
    port = find_free_port()
    log = tmp_path / "log"
    command = [sys.executable, "-m", "fieldflame", "mcp", "--project", "lab", "--http", f"127.0.0.1:{port}"]
    with (
        log.open("w") as output,
        subprocess.Popen(
            command, env=make_environment(live_server), stdout=output, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            wait_until_it_answers(port, process)
            yield f"http://127.0.0.1:{port}/mcp", log
        finally:
            process.terminate()


def test_by_http_each_client_sends_its_own_token(lab: Project, by_http: tuple[str, Path]) -> None:
    url, log = by_http
    token = make_token(lab)

    async def ask(headers: dict[str, str]) -> CallToolResult:
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            return await client.call_tool("verdict", {})

    known = run_coroutine(ask({"Authorization": f"Bearer {token}"}))
    assert "made `/cart` slower" in read(known)
    assert "Authorization: Bearer" in str(run_coroutine(ask({})).content)
    assert "(401)" in str(run_coroutine(ask({"Authorization": "Bearer ff_made_up"})).content)
    assert token not in log.read_text()
