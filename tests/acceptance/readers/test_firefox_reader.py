"""Mozilla's own reader opens our profiles and gets the same counts."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from profcore.formats.firefox.writer import write_profile
from profcore.formats.slice import ExportFunc, SliceExport
from profcore.formats.streaming import gzip_stream
from tests.acceptance.recorded import Group, expected_groups, export_group, groups
from tests.profcore.formats.builders import export_of, export_tree
from tests.profcore.formats.firefox.lint import load_good
from tests.profile_reader import ReaderError, open_profile, read_functions

pytestmark = pytest.mark.slow(10)

# name, URI, line, column → self and total in µs
Sums = dict[tuple[str, str | None, int | None, int | None], tuple[int, int]]


def save(export: SliceExport, folder: Path) -> Path:
    path = folder / "profile.json.gz"
    path.write_bytes(b"".join(gzip_stream(write_profile(export))))
    return path


def read_sums(export: SliceExport, folder: Path) -> Sums:
    """Returns the reader's self and total by func; our own funcTable identifies its rows."""
    shared = load_good(b"".join(write_profile(export)))["shared"]
    table, strings = shared["funcTable"], shared["stringArray"]
    sums: Sums = {}
    for func in read_functions(save(export, folder)):
        source = table["source"][func.index]
        uri = None if source is None else strings[shared["sources"]["filename"][source]]
        name = strings[table["name"][func.index]]
        assert func.name == name
        key = (name, uri, table["lineNumber"][func.index], table["columnNumber"][func.index])
        assert key not in sums
        sums[key] = (round(func.self_ms * 1000), round(func.total_ms * 1000))
    return sums


def expected_sums(functions: list[dict[str, Any]]) -> Sums:  # the oracle's JSON
    return {
        (func["name"] or "(anonymous)", func["uri"], func["line"], func["column"]): (func["self_us"], func["total_us"])
        for func in functions
        if func["total_us"]
    }


@pytest.mark.parametrize("group", groups(), ids=" ".join)
def test_the_reader_counts_every_func_of_the_corpus_as_the_oracle_does(group: Group, tmp_path: Path) -> None:
    expected = expected_groups()[group]

    sums = read_sums(export_group(group), tmp_path)

    hidden_us = expected["time_us"]["hidden"]
    assert sums.pop(("(hidden)", None, None, None)) == (hidden_us, hidden_us)
    assert sums == expected_sums(expected["functions"])


def test_the_reader_counts_a_recursive_func_once_per_sample(tmp_path: Path) -> None:
    sums = read_sums(export_of({"walk walk walk": 5_000, "walk": 1_000, "main walk": 2_000}, hidden_us=500), tmp_path)

    assert {name: times for (name, *_), times in sums.items()} == {
        "walk": (8_000, 8_000),
        "main": (0, 2_000),
        "(hidden)": (500, 500),
    }


def test_the_reader_upgrades_the_profile_and_shows_its_facts(tmp_path: Path) -> None:
    with open_profile(save(export_of({"main": 1_000}, idle_us=9_000), tmp_path)) as reader:
        meta = reader.read_meta()

    assert meta["preprocessedProfileVersion"] > 66
    assert (meta["product"], meta["interval"], meta["startTime"]) == ("shop", 10, 1_795_000_000_000)
    assert meta["symbolicated"] is True


def test_the_reader_opens_an_empty_slice(tmp_path: Path) -> None:
    assert read_sums(export_of({}), tmp_path) == {}


def test_the_reader_opens_hostile_names(tmp_path: Path) -> None:
    labels = ["a\0b", "\ud800", "<script>alert(1)</script>", "(root)", "\x1b[2J", "naïve 😀", '"\\', "\u2028"]
    funcs = [ExportFunc(label=label, name=label, uri=label, line=1, column=1) for label in labels]
    export = export_of({"main": 1}, funcs=[ExportFunc(label="main", name="main"), *funcs])
    for func in range(1, len(funcs) + 1):
        export.tree.prefix.append(0)
        export.tree.func.append(func)
        export.tree.self_us.append(1_000)
        export.tree.self_samples.append(1)
        export.tree.hidden_us.append(0)

    assert Counter(read_sums(export, tmp_path).values()) == {(1_000, 1_000): len(labels), (1, 8_001): 1}


def test_the_reader_opens_a_stack_ten_thousand_deep(tmp_path: Path) -> None:
    export = export_tree(list(range(-1, 9_999)), 100)

    sums = read_sums(export, tmp_path)

    assert len(sums) == 100
    assert sum(self_us for self_us, _ in sums.values()) == export.time.js_us
    assert max(total_us for _, total_us in sums.values()) == export.time.js_us


def test_the_reader_refuses_a_version_it_does_not_know(tmp_path: Path) -> None:
    # Shows that the reader judges the file, and why the pin must not run ahead of the viewers in use.
    profile = load_good(b"".join(write_profile(export_of({"main": 1}))))
    profile["meta"]["preprocessedProfileVersion"] = 10_000
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile))

    with pytest.raises(ReaderError, match="version"), open_profile(path):
        pass
