"""Folding a trace costs about as much as the trace is long, whatever its shape: counted in bytecodes, not in seconds.

Four times the trace may take up to six times the bytecodes: O(n log n) takes five at these lengths, O(n²) sixteen.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import pytest

from profcore.sums.fold import CellFold, fold_trace
from profcore.trace.funcs import FuncTable
from tests.hostile.shapes import SHAPES, TraceShape, make_envelope

SIZE: Final = 300
GROWTH: Final = 4
MOST_GROWTH: Final = 6.0


def count_bytecodes(work: Callable[[], object]) -> int:
    """Returns how many bytecodes of the core run in `work`."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:  # Any: as sys.settrace has them
        nonlocal count
        if "profcore" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def cost_of(shape: TraceShape, size: int) -> int:
    envelope = make_envelope(shape, size, size)

    def fold() -> None:
        cell = CellFold("cell")
        cell.add(envelope.viewId, fold_trace(envelope, page="/", funcs=FuncTable()), is_truncated=False)

    return count_bytecodes(fold)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_the_cost_of_a_fold_grows_as_its_trace_does(shape: TraceShape) -> None:
    small, large = cost_of(shape, SIZE), cost_of(shape, SIZE * GROWTH)
    assert small > SIZE  # else nothing was counted
    assert large <= MOST_GROWTH * small
