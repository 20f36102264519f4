"""The recorded corpus in a running Fieldflame."""

import http.client
from contextlib import closing
from typing import Final
from weakref import WeakKeyDictionary

import pytest

from ops.supervisor.running import RunningStack
from tests.acceptance.corpus.oracle import APPS
from tests.acceptance.corpus.projects import create_projects
from tests.acceptance.corpus_stack import corpus

TOKENS: Final[WeakKeyDictionary[RunningStack, dict[str, str]]] = WeakKeyDictionary()


@pytest.fixture(scope="module")
def folded(whole_stack: RunningStack) -> tuple[RunningStack, dict[str, str]]:
    """A running stack in which the whole corpus was posted and folded, once; with a token for each project."""
    if whole_stack not in TOKENS:
        TOKENS[whole_stack] = fold_corpus(whole_stack)
    return whole_stack, TOKENS[whole_stack]


def fold_corpus(stack: RunningStack) -> dict[str, str]:
    tokens = create_projects(stack, APPS)
    with closing(http.client.HTTPConnection("127.0.0.1", stack.port, timeout=120)) as connection:
        for app, body in corpus():
            connection.request("POST", f"/ingest/v1/traces?key={app}", body)
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (202, b'{"accepted":1,"rejected":[]}')
    stack.wait_until_folded(tokens)
    return tokens
