"""A fault of the kernel costs one trace, and never a worker or a wrong sum."""

import pytest

from profcore.sums.batch_sums import CompiledSums
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits
from tests.profcore.trace.wire.refusals import body_of, full_envelope
from tests.profcore.twins.comparing import MAX_BYTES, VIEWS, SentBody, kernel_module, needs_kernel, write

pytestmark = needs_kernel
BODY = SentBody(body_of(full_envelope()))


def new_sums() -> CompiledSums[str]:
    return CompiledSums(kernel_module(), FuncTable(), Limits(), max_bytes=MAX_BYTES)


def add(sums: CompiledSums[str]) -> None:
    sums.add("cell", VIEWS[0], BODY, page="/cart", is_truncated=False)


def test_a_panic_is_an_error_of_its_trace_and_nothing_of_it_is_added() -> None:
    plain, sums = new_sums(), new_sums()
    add(plain)
    sums._kernel.panic_next()
    with pytest.raises(ValueError, match="could not fold") as caught:
        add(sums)
    assert type(caught.value).__name__ == "KernelPanic"
    assert isinstance(caught.value, Exception)  # PyO3's own error of a panic is none
    add(sums)
    assert write(sums) == write(plain)


def test_a_panic_within_the_sums_spoils_the_batch() -> None:
    sums = new_sums()
    add(sums)
    with pytest.raises(RuntimeError, match="could not add up"):
        sums._kernel.grow(0, VIEWS[1].bytes, 1, None)  # there is no such view
    with pytest.raises(RuntimeError, match="earlier fault"):
        add(sums)
    with pytest.raises(RuntimeError, match="earlier fault"):
        sums.used()


def test_a_sum_that_does_not_fit_spoils_the_batch() -> None:
    """A month of 2,000 traces has half of the bits; so this takes columns that no trace has."""
    sums, columns = new_sums(), [[2**62]] * 7
    stacks = ([-1], [0], [2**62], [1], [0])
    parts = ([0] * 7, [0] * 5)
    sums._kernel.add_fold(0, VIEWS[0].bytes, False, parts, None, stacks, ([0], columns))
    with pytest.raises(RuntimeError, match="could not add up"):
        sums._kernel.add_fold(0, VIEWS[0].bytes, False, parts, None, stacks, ([0], columns))


def test_an_error_of_the_func_table_comes_through() -> None:
    class Failing(FuncTable):
        def read_plain_uri(self, uri: str) -> tuple[str, str]:
            raise LookupError("of a test")

    sums: CompiledSums[str] = CompiledSums(kernel_module(), Failing(), Limits(), max_bytes=MAX_BYTES)
    with pytest.raises(LookupError, match="of a test"):
        add(sums)
