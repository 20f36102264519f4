"""Any input gives an envelope or a `TraceError`, and every accepted envelope can be folded."""

import json

from hypothesis import given
from hypothesis import strategies as st

from profcore.errors import Reason, TraceError
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits, decode_envelope, read_trace_id, split_array
from tests.profcore.strategies import PROPERTY
from tests.profcore.trace.wire.mangled import PATHS, json_values
from tests.profcore.trace.wire.refusals import body_of, changed, full_envelope

BODY = body_of(full_envelope())
LIMITS = Limits()


def check_refusal(error: TraceError) -> None:
    """Checks that an error can be sent as an answer."""
    assert error.reason in Reason
    assert error.path.startswith("$")
    assert error.detail.endswith(".")
    assert len(error.detail) < 500


def decode_and_fold(body: bytes) -> None:
    """Decodes: an error must be well-formed, and an accepted envelope must pass the fold."""
    try:
        envelope = decode_envelope(body, LIMITS)
    except TraceError as error:
        check_refusal(error)
        return
    parts = fold_trace(envelope, page="/cart", funcs=FuncTable()).parts
    assert parts.samples == len(envelope.trace.samples)


@PROPERTY
@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing_but_trace_errors(body: bytes) -> None:
    decode_and_fold(body)
    read_trace_id(body)
    try:
        split_array(body, 100)
    except TraceError as error:
        check_refusal(error)


@PROPERTY
@given(st.integers(0, len(BODY) - 1), st.integers(0, 12), st.binary(max_size=12))
def test_damaged_bytes_raise_nothing_but_trace_errors(at: int, length: int, patch: bytes) -> None:
    decode_and_fold(BODY[:at] + patch + BODY[at + length :])


@PROPERTY
@given(st.sampled_from(PATHS), json_values)
def test_any_value_in_any_place_raises_nothing_but_trace_errors(path: str, value: object) -> None:
    decode_and_fold(json.dumps(changed(path, value)).encode())


@PROPERTY
@given(
    st.lists(st.fixed_dictionaries({"frameId": st.integers(-1, 3)}, optional={"parentId": st.integers(-1, 9)})),
    st.lists(st.fixed_dictionaries({"timestamp": st.floats(-1e11, 1e11)}, optional={"stackId": st.integers(-1, 9)})),
)
def test_any_tables_raise_nothing_but_trace_errors(stacks: list[object], samples: list[object]) -> None:
    envelope = changed("$.trace.stacks", stacks)
    envelope["trace"]["samples"] = samples
    decode_and_fold(body_of(envelope))
