"""pprof profiles: the messages' fields by number, as in `profile.proto`."""

import gzip
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from profcore.formats.pprof.messages import packed
from profcore.formats.pprof.writer import write_slice
from profcore.formats.slice import ExportFunc, ExportOriginal, SliceExport
from tests.profcore.formats.builders import URI, export_of
from tests.profcore.formats.readers import decode_message, decode_packed
from tests.profcore.strategies import PROPERTY


def load(export: SliceExport) -> tuple[dict[int, list[Any]], list[str]]:
    """Returns the profile's fields and its strings."""
    profile = decode_message(gzip.decompress(b"".join(write_slice(export))))
    return profile, [text.decode() for text in profile[6]]


def test_samples_have_a_count_and_microseconds_which_are_shown_by_default() -> None:
    profile, strings = load(export_of({"main": 1_000, "main render": 3_000}, idle_us=500))

    types = [decode_message(kind) for kind in profile[1]]
    assert [(strings[kind[1][0]], strings[kind[2][0]]) for kind in types] == [
        ("samples", "count"),
        ("time", "microseconds"),
    ]
    assert strings[profile[14][0]] == "time"
    samples = [decode_message(sample) for sample in profile[2]]
    assert [(decode_packed(sample[1][0]), decode_packed(sample[2][0])) for sample in samples] == [
        ([1], [1, 1_000]),
        ([2, 1], [1, 3_000]),
    ]


def test_a_function_has_its_start_line_and_a_location_its_line_and_column() -> None:
    mapped = ExportFunc(
        label="label", name="a", uri=URI, line=1, column=900, original=ExportOriginal("src/app.ts", 12, 3)
    )
    profile, strings = load(export_of({"label": 1}, funcs=[mapped]))

    (function,), (location,) = map(decode_message, profile[5]), map(decode_message, profile[4])
    line = decode_message(location[4][0])
    assert [strings[function[field][0]] for field in (2, 3, 4)] == ["label", f"{URI}:1:900", "src/app.ts"]
    assert (function[5], line[2], line[3]) == ([12], [12], [3])


def test_the_string_table_begins_with_the_empty_one_and_has_each_once() -> None:
    _, strings = load(export_of({"main": 1}))

    assert strings[0] == ""
    assert len(set(strings)) == len(strings)


def test_times_are_nanoseconds_and_the_period_is_the_interval() -> None:
    profile, strings = load(export_of({"main": 1_000}, idle_us=500))

    assert (profile[9], profile[10], profile[12]) == ([1_795_000_000_000_000_000], [1_500_000], [10_000])
    assert "idle_ms: 0.5" in [strings[comment] for comment in profile[13]]
    assert strings[profile[15][0]] == "https://flame.example/projects/shop/?page=/checkout"


@PROPERTY
@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_any_whole_number_of_64_bits_is_encoded(numbers: list[int]) -> None:
    assert decode_packed(packed(numbers)) == numbers
