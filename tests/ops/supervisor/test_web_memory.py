"""A web process with more memory than it may have is replaced, and requests are answered all the time."""

import time
import urllib.request
from collections.abc import Iterator

import pytest

from ops.supervisor.running import RunningStack, run_stack
from ops.supervisor.services import WEB_MAX_MB_NAME, WEB_PROCESSES_NAME
from tests.stack_processes import find_web_processes

pytestmark = [pytest.mark.nightly, pytest.mark.stack, pytest.mark.slow(60)]
DEADLINE_S = 600


@pytest.fixture
def small_stack() -> Iterator[RunningStack]:
    """A Fieldflame whose web processes have more memory from the start."""
    with run_stack({WEB_MAX_MB_NAME: "50", WEB_PROCESSES_NAME: "2"}) as stack:
        yield stack


def test_a_web_process_with_too_much_memory_is_replaced(small_stack: RunningStack) -> None:
    assert small_stack.process is not None
    first = set(find_web_processes(small_stack.process.pid))
    assert len(first) == 2
    deadline_s = time.monotonic() + DEADLINE_S
    while first & set(find_web_processes(small_stack.process.pid)):
        assert time.monotonic() < deadline_s, "a process with too much memory is still there"
        with urllib.request.urlopen(f"{small_stack.url}/login/", timeout=DEADLINE_S) as answer:
            assert answer.status == 200
        time.sleep(0.1)
