"""The shared tables: funcs, frames, resources, sources, categories."""

from dataclasses import replace
from typing import Any

import pytest

from profcore.formats.firefox.tables import split_origin
from profcore.formats.firefox.writer import write_difference, write_profile, write_segments
from profcore.formats.slice import DifferenceExport, ExportFunc, ExportOriginal, SegmentedExport, SliceExport
from tests.profcore.formats.builders import export_of, read_from
from tests.profcore.formats.firefox.lint import load_good, read_runs
from tests.profcore.formats.readers import texts_of
from tests.urls import LOCAL_FILE

# Rows as they are shown; a row of a foreign file holds what JSON holds.
Rows = dict[str, dict[str, Any]]


def read_funcs(export: SliceExport) -> Rows:
    """Returns each func by name, with its frame's category, and values in place of indexes."""
    profile = load_good(b"".join(write_profile(export)))
    shared, categories = profile["shared"], profile["meta"]["categories"]
    table, strings = shared["funcTable"], shared["stringArray"]
    rows: Rows = {}
    for row in range(table["length"]):
        func = {column: table[column][row] for column in table if column != "length"}
        frame = shared["frameTable"]["func"].index(row)
        category = categories[shared["frameTable"]["category"][frame]]
        func["category"] = category["name"]
        func["subcategory"] = category["subcategories"][shared["frameTable"]["subcategory"][frame]]
        if func["source"] is not None:
            func["source"] = strings[shared["sources"]["filename"][func["source"]]]
        if func["resource"] != -1:
            func["resource"] = strings[shared["resourceTable"]["name"][func["resource"]]]
        if func["originalLocation"] is not None:
            table_of = shared["sourceLocationTable"]
            location = func["originalLocation"]
            source = strings[shared["sources"]["filename"][table_of["source"][location]]]
            func["originalLocation"] = (source, table_of["line"][location], table_of["column"][location])
        rows[strings[func.pop("name")]] = func
    return rows


def test_a_func_carries_its_definition_and_its_frame_no_position() -> None:
    export = export_of(
        {"render": 1},
        funcs=[ExportFunc(label="render", name="r", uri="https://shop.example/app.js", line=12, column=340)],
    )

    assert read_funcs(export) == {
        "render": {
            "isJS": True,
            "relevantForJS": False,
            "resource": "https://shop.example",
            "source": "https://shop.example/app.js",
            "lineNumber": 12,
            "columnNumber": 340,
            "originalLocation": None,
            "category": "JavaScript",
            "subcategory": "Other",
        }
    }
    frames = load_good(b"".join(write_profile(export)))["shared"]["frameTable"]
    assert (frames["line"], frames["column"]) == ([None], [None])


def test_a_built_in_is_a_label_without_resource_or_source() -> None:
    func = read_funcs(export_of({"appendChild": 1}, funcs=[ExportFunc(label="appendChild", name="appendChild")]))[
        "appendChild"
    ]

    assert (func["isJS"], func["relevantForJS"]) == (False, True)
    assert (func["resource"], func["source"], func["lineNumber"]) == (-1, None, None)
    assert (func["category"], func["subcategory"]) == ("Built-in", "Other")


def test_a_func_with_a_position_and_no_resource_is_javascript() -> None:
    func = read_funcs(export_of({"f": 1}, funcs=[ExportFunc(label="f", name="f", uri=None, line=3, column=7)]))["f"]

    assert (func["isJS"], func["relevantForJS"], func["resource"], func["lineNumber"]) == (True, False, -1, 3)
    assert func["subcategory"] == "Other"


def test_a_func_of_a_page_named_like_hidden_time_stays_apart_from_it() -> None:
    export = export_of({"(hidden)": 5}, funcs=[ExportFunc(label="(hidden)", name="(hidden)")], hidden_us=7)

    profile = load_good(b"".join(write_profile(export)))
    assert profile["shared"]["funcTable"]["length"] == 2
    assert read_runs(profile)[:2] == [(0, 7), (1, 5)]


def test_hidden_time_has_a_category_of_its_own() -> None:
    assert read_funcs(export_of({}, hidden_us=7))["(hidden)"]["category"] == "Hidden"


@pytest.mark.parametrize(
    ("category", "shown"),
    [
        ("first-party", ("First party", "Other")),
        ("library", ("Library", "Other")),
        ("third-party", ("Third party", "Other")),
        ("built-in", ("Built-in", "Other")),
        ("webassembly", ("JavaScript", "WebAssembly")),
        ("brand-new", ("JavaScript", "Other")),
    ],
)
def test_a_func_has_the_category_of_its_owner(category: str, shown: tuple[str, str]) -> None:
    func = ExportFunc(label="f", name="f", uri="https://shop.example/app.js", line=1, column=1, category=category)

    row = read_funcs(export_of({"f": 1}, funcs=[func]))["f"]

    assert (row["category"], row["subcategory"]) == shown


def test_categories_of_stacks_can_be_told_apart_by_colour() -> None:
    stacked = "First party/Library/Third party/JavaScript/Built-in/Hidden/Engine/Garbage collection/Style/Layout/Paint"
    profile = load_good(b"".join(write_profile(export_of({}))))
    colours = {category["name"]: category["color"] for category in profile["meta"]["categories"]}

    assert len({colours[name] for name in stacked.split("/")}) == len(stacked.split("/"))
    assert (colours["First party"], colours["Library"], colours["Third party"]) == ("orange", "green", "blue")
    assert (colours["Hidden"], colours["Engine"]) == ("purple", "lightblue")


def test_funcs_that_look_the_same_are_one_row_and_one_call_node() -> None:
    # Two minified names with one label from a source map: the viewer distinguishes call nodes by row.
    twins = [
        ExportFunc(label="render", name=name, uri="https://shop.example/app.js", line=3, column=5)
        for name in ("a", "b")
    ]
    export = export_of({"main": 1}, funcs=[ExportFunc(label="main", name="main"), *twins])
    for func in (1, 2):
        export.tree.prefix.append(0)
        export.tree.func.append(func)
        export.tree.self_us.append(4)
        export.tree.self_samples.append(1)
        export.tree.hidden_us.append(0)

    profile = load_good(b"".join(write_profile(export)))

    assert profile["shared"]["funcTable"]["length"] == 2
    assert read_runs(profile) == [(0, 1), (1, 8), (None, 0)]


@pytest.mark.parametrize(
    "other",
    [
        ExportFunc(label="f", name="f", uri="https://shop.example/other.js", line=3, column=5),
        ExportFunc(label="f", name="f", uri="https://shop.example/app.js", line=4, column=5),
        ExportFunc(label="f", name="f", uri="https://shop.example/app.js", line=3, column=6),
        ExportFunc(label="f", name="f"),
    ],
)
def test_funcs_of_one_name_and_different_places_stay_apart(other: ExportFunc) -> None:
    export = export_of(
        {"f": 1}, funcs=[ExportFunc(label="f", name="f", uri="https://shop.example/app.js", line=3, column=5), other]
    )
    export.tree.prefix.append(-1)
    export.tree.func.append(1 - export.tree.func[0])
    export.tree.self_us.append(4)
    export.tree.self_samples.append(1)
    export.tree.hidden_us.append(0)

    assert load_good(b"".join(write_profile(export)))["shared"]["funcTable"]["length"] == 2


def test_funcs_without_time_are_not_written() -> None:
    assert set(read_funcs(export_of({"main": 1}, funcs=[ExportFunc(label="unused", name="unused")]))) == {"main"}


def test_scripts_of_one_origin_share_a_resource_whose_favicon_nobody_fetches() -> None:
    funcs = [
        ExportFunc(label="a", name="a", uri="https://shop.example/a.js", line=1, column=1),
        ExportFunc(label="b", name="b", uri="https://shop.example/b.js", line=1, column=1),
        ExportFunc(label="c", name="c", uri="https://cdn.example:8443/c.js", line=1, column=1),
    ]

    shared = load_good(b"".join(write_profile(export_of({"a": 4, "b": 2, "c": 1}, funcs=funcs))))["shared"]

    strings, resources = shared["stringArray"], shared["resourceTable"]
    assert [strings[name] for name in resources["name"]] == ["https://shop.example", "https://cdn.example:8443"]
    assert [strings[host] for host in resources["host"]] == ["shop.example", "cdn.example:8443"]
    assert resources["type"] == [5, 5]
    assert shared["sources"]["length"] == 3


def test_an_original_position_goes_beside_the_generated_one() -> None:
    original = ExportOriginal("src/list.ts", 41, 17)
    func = ExportFunc(
        label="renderList",
        name="r",
        uri="https://shop.example/app.js",
        line=1,
        column=5100,
        category=None,
        original=original,
    )

    row = read_funcs(export_of({"renderList": 1}, funcs=[func]))["renderList"]

    assert row["originalLocation"] == ("src/list.ts", 41, 17)
    assert (row["lineNumber"], row["columnNumber"]) == (1, 5100)


@pytest.mark.parametrize(
    ("uri", "origin", "host"),
    [
        ("https://shop.example/a/b.js", "https://shop.example", "shop.example"),
        ("http://localhost:8000", "http://localhost:8000", "localhost:8000"),
        ("https://shop.example?x", "https://shop.example", "shop.example"),
        ("blob:https://shop.example", "https://shop.example", "shop.example"),
        ("wasm://wasm/0a1b2c", "wasm://wasm", "wasm"),
        (f"{LOCAL_FILE}/docs/page.html", "file://", None),
        ("data:", "data:", None),
        ("chrome-extension:", "chrome-extension:", None),
        ("about:blank", "about:", None),
        ("https://[::1", "https://[::1", "[::1"),
        ("webpack", "(unknown origin)", None),
        ("<img src=x>: hello", "(unknown origin)", None),
        ("", "(unknown origin)", None),
        ("://", "(unknown origin)", None),
        (":", "(unknown origin)", None),
    ],
)
def test_every_uri_has_an_origin(uri: str, origin: str, host: str | None) -> None:
    assert split_origin(uri) == (origin, host)


@pytest.mark.parametrize("kind", ["slice", "segments", "difference"])
def test_the_text_of_an_original_source_comes_with_it(kind: str) -> None:
    original = ExportOriginal("webpack://shop/src/list.ts", 3, 7)
    func = ExportFunc(
        label="render", name="r", uri="https://shop.example/app.js", line=1, column=900, original=original
    )
    text = "export function render() {\n  \ud800\n}\n"
    texts = read_from({original.source: text, "unused.ts": "no"})
    export = replace(export_of({"render": 1_000}, funcs=[func]), contents=texts)
    body = {
        "slice": lambda: write_profile(export),
        "segments": lambda: write_segments(SegmentedExport("page", export, [("/", export)])),
        "difference": lambda: write_difference(
            DifferenceExport(project="shop", query="", base=replace(export, views=1), head=export)
        ),
    }[kind]()
    assert texts_of(load_good(b"".join(body))) == {
        "https://shop.example/app.js": None,
        "webpack://shop/src/list.ts": "export function render() {\n  \ufffd\n}\n",
    }
