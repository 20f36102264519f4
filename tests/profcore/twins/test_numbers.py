"""Both twins read every number alike, down to the last bit: numbers as JSON may write them, and nearly so."""

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.profcore.trace.wire.refusals import body_of, changed
from tests.profcore.twins.comparing import SentBody, SentTrace, compare_twins, needs_kernel
from tests.properties import bounded

pytestmark = needs_kernel
PLACE = 987_654_321  # no other number of the envelope has these digits
WHOLE = "$.trace.frames[0].line"
FRACTIONS = ["$.trace.samples[1].timestamp", "$.sampleInterval", "$.marks[0].duration", "$.timeOrigin"]
EXACT = r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,4})?"
NEARLY = r"[+-]{0,2}[0-9]{0,4}\.{0,2}[0-9]{0,4}[eE]?[+-]?[0-9]{0,4}"
numbers = st.from_regex(EXACT, fullmatch=True) | st.from_regex(NEARLY, fullmatch=True)
# Those that a browser may send: up to a day in ms, with as many digits as a double has.
times = st.floats(0, 86_400_000).map(repr)


def compare_number(path: str, number: str) -> None:
    body = body_of(changed(path, PLACE)).replace(str(PLACE).encode(), number.encode())
    compare_twins([SentTrace(SentBody(body))])


@pytest.mark.parametrize("path", [*FRACTIONS, WHOLE])
@bounded(150)
@given(numbers | times)
@example("-0")
@example("-0.0")
@example("1e400")
@example("1e-400")
@example("9007199254740993")
@example("18446744073709551616")
@example("9223372036854775807")
@example("9223372036854775808")
@example("1.7976931348623157e308")
@example("1.7976931348623159e308")
@example("12.345000000000000000000000000000000001")
@example("0.1" + "0" * 400 + "1")
@example("1" + "0" * 400)
@example("2.5e0000000000000000000001")
def test_any_number_at_any_place(path: str, number: str) -> None:
    compare_number(path, number)


def test_a_time_keeps_every_bit() -> None:
    number = "12345.678901234567"
    assert msgspec.json.decode(number) == float(number)
    compare_number(FRACTIONS[0], number)
