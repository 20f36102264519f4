"""Work in a process of its own: its task arrives whole, however late the process begins to read."""

import pytest

from aggregate.child_process import run_alone

PIPE_BYTES = 64 * 1024  # what a pipe holds: the rest is sent while the process reads


@pytest.mark.parametrize("size_bytes", [0, 1, 20 * PIPE_BYTES])
def test_a_process_that_begins_late_to_read_gets_its_whole_task(size_bytes: int) -> None:
    assert run_alone("tests.aggregate.slow_reader", bytes(size_bytes), timeout_s=30) == str(size_bytes).encode()
