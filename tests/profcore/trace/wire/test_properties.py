"""Any input gives an envelope or a `TraceError`, and every accepted envelope can be folded."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from profcore.errors import Reason, TraceError
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits, decode_envelope, read_trace_id, split_array
from tests.profcore.strategies import PROPERTY
from tests.profcore.trace.wire.refusals import body_of, changed, full_envelope

BODY = body_of(full_envelope())
LIMITS = Limits()

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-3, 3)
    | st.floats()  # json writes NaN and Infinity, which are no JSON
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def paths_in(value: Any, path: str = "$") -> list[str]:  # Any: JSON
    """Returns the paths of everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    steps = [(f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]", entry) for key, entry in inner]
    return [found for step, entry in steps for found in (step, *paths_in(entry, step))]


PATHS = paths_in(full_envelope())


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
