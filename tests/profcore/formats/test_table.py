"""The table: one row per func, the parts of time, and nothing that a spreadsheet would run."""

import csv
import io
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.formats.slice import ExportFunc, ExportOriginal, SliceExport
from profcore.formats.table import COLUMNS, encode_row, guard, write_slice
from tests.profcore.formats.builders import URI, export_of
from tests.profcore.strategies import PROPERTY


def rows_of(export: SliceExport) -> list[dict[str, str]]:
    text = b"".join(write_slice(export)).decode()
    assert text.count("\r\n") == text.count("\n"), "lines end as RFC 4180 has it"
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_functions_come_by_self_time_with_all_that_is_known_of_them() -> None:
    mapped = ExportFunc(
        label="draw",
        name="a",
        uri=URI,
        line=1,
        column=900,
        category="first-party",
        original=ExportOriginal("src/app.ts", 12, 3),
    )
    export = export_of({"main": 1_000, "main draw": 3_000}, funcs=[mapped])
    export.tree.hidden_us[0] = 250

    draw, main, *_ = rows_of(export)

    assert list(draw) == list(COLUMNS)
    assert [draw[name] for name in COLUMNS] == [
        *("function", "draw", "a", URI, "1", "900", "src/app.ts", "12", "3", "first-party"),
        *("3.0", "3.0", "0.0", "0.0", "1", "1"),
    ]
    assert [main[name] for name in COLUMNS[10:]] == ["1.0", "4.0", "0.25", "0.25", "1", "2"]


def test_self_times_and_parts_add_up_to_the_span() -> None:
    export = export_of({"a b": 5, "b": 7}, hidden_us=11, engine_us=23, idle_us=13, unobserved_us=17, profiler_us=19)

    rows = rows_of(export)

    assert [row["label"] for row in rows if row["kind"] == "part"] == [
        "(hidden)",
        "(engine)",
        "(idle)",
        "(unobserved)",
        "(profiler)",
    ]
    assert sum(round(float(row["self_ms"]) * 1000) for row in rows) == export.time.span_us


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "'"])
def test_a_cell_that_would_be_a_formula_is_guarded(text: str) -> None:
    (row, *_) = rows_of(export_of({"x": 1}, funcs=[ExportFunc(label="x", name=text, uri=URI, line=1, column=1)]))

    assert row["name"].startswith("'")
    assert unguard(row["name"]) == text


def test_other_cells_are_left_as_they_are() -> None:
    texts = ["f", "(idle)", "a=b", "", "a b;c", "a - b", "https://shop.example/a-b.js?x=1", "it's", "a;b=c", "Ünï"]
    assert [guard(text) for text in texts] == texts


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\ufe66", "\u2212"])
@pytest.mark.parametrize("before", ["", " ", "\xa0", "\ufeff", "\u200b", '"', ' "'])
@pytest.mark.parametrize("separator", [";", ",", "\t", "|", "\n", "\r\n"])
def test_no_cell_begins_with_a_sign_however_a_spreadsheet_splits_the_row(
    sign: str, before: str, separator: str
) -> None:
    text = f"a{separator}{before}{sign}cmd|' /C calc'!A0{separator}b{separator}{separator}{sign}1"
    row = encode_row((text, 1.5, text)).decode()
    for cell in re.split(r"[;,\t|\r\n]", row):
        assert cell.lstrip("\"' \xa0\ufeff\u200b")[:1] != sign or cell.lstrip(' "').startswith("'"), cell
    (read, number, again) = next(csv.reader(io.StringIO(row, newline="")))
    assert (unguard(read), float(number), unguard(again)) == (text, 1.5, text)


@PROPERTY
@given(st.text(alphabet=";,|\t\r\n'=+-\"a \uff1d", max_size=20))
def test_a_guarded_text_can_be_restored(text: str) -> None:
    assert unguard(guard(text)) == text


def unguard(text: str) -> str:
    """Returns a text as it was, by the rule of the documents."""
    return re.sub(r"(^|[;,|\t\r\n])'", r"\1", text)


def test_texts_are_quoted_and_numbers_are_not() -> None:
    assert encode_row(("a", "", None, 1, 2.5, 'b"c')) == b'"a","",,1,2.5,"b""c"\r\n'


@pytest.mark.parametrize("unit", [";", " ", ";'", '"', "\t", "; "])
def test_hostile_texts_are_guarded_in_linear_time(unit: str) -> None:
    began_s = time.process_time()
    guard(unit * 200_000)
    assert time.process_time() - began_s < 1
