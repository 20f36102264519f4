"""Names and URIs may be any text; the file stays valid JSON and valid UTF-8 and keeps the texts."""

import json

import pytest

from profcore.formats.firefox.writer import write_profile
from profcore.formats.slice import ExportFunc, SliceExport
from tests.profcore.formats.builders import export_of
from tests.profcore.formats.firefox.lint import load_good, read_runs, read_tree


def export_name(label: str, uri: str = "https://shop.example/a.js") -> SliceExport:
    """Returns a slice of one func with this label."""
    export = export_of({"f": 1})
    func = ExportFunc(label=label, name=label, uri=uri, line=1, column=1)
    return SliceExport(
        project=label,
        query=label,
        funcs=[func],
        tree=export.tree,
        time=export.time,
        views=1,
        traces=1,
        samples=1,
        interval_ms=10.0,
        started_at_ms=0,
        ended_at_ms=0,
        releases=[label],
        pages=[label],
        dimensions={"browsers": [label], "devices": [label]},
        link="https://flame.example/" + label,
    )


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("a\0b", "a\ufffdb"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("pair \ud83d\ude00 of halves", "pair \ufffd\ufffd of halves"),
        ("\x01\x1b[31m\r\n\t\x7f\x85", "\x01\x1b[31m\r\n\t\x7f\x85"),
        ("</script><img src=x onerror=alert(1)>", "</script><img src=x onerror=alert(1)>"),
        ('quote " backslash \\ slash /', 'quote " backslash \\ slash /'),
        ("line\u2028and paragraph\u2029", "line\u2028and paragraph\u2029"),
        ("\u202eright to left", "\u202eright to left"),
        ("naïve 😀", "naïve 😀"),
        ("(root)", "(root)"),
        ("(idle)", "(idle)"),
        ("a;b;c 1", "a;b;c 1"),
        ("x" * 100_000, "x" * 100_000),
        ("", "(anonymous)"),
    ],
)
def test_a_hostile_name_is_shown_as_it_is_or_with_replacement_characters(label: str, shown: str) -> None:
    body = b"".join(write_profile(export_name(label)))

    body.decode("utf-8")
    assert read_tree(load_good(body))[1] == [shown]


@pytest.mark.parametrize(
    "uri", ["", "\0", "https://[::1", "\ud800", "javascript:alert(1)", "blob:", "//", "a" * 70_000]
)
def test_a_hostile_uri_leaves_a_good_profile(uri: str) -> None:
    load_good(b"".join(write_profile(export_name("f", uri))))


def test_labels_that_differ_in_unwritable_characters_only_become_one_func() -> None:
    export = export_of(
        {"f": 1},
        funcs=[ExportFunc(label="f", name="f"), ExportFunc(label="a\0", name=""), ExportFunc(label="a\ufffd", name="")],
    )
    export.tree.prefix[:], export.tree.func[:] = [-1, -1], [1, 2]
    export.tree.self_us[:], export.tree.self_samples[:], export.tree.hidden_us[:] = [2, 3], [1, 1], [0, 0]

    assert read_runs(load_good(b"".join(write_profile(export)))) == [(0, 5), (None, 0)]


def test_a_position_of_zero_counts_as_none() -> None:
    export = export_of(
        {"f": 1}, funcs=[ExportFunc(label="f", name="f", uri="https://shop.example/a.js", line=0, column=0)]
    )

    table = load_good(b"".join(write_profile(export)))["shared"]["funcTable"]
    assert (table["lineNumber"], table["columnNumber"]) == ([None], [None])


def test_a_link_that_is_no_web_address_is_not_made_a_link() -> None:
    export = export_name("f")
    forged = SliceExport(
        **{name: getattr(export, name) for name in SliceExport.__slots__ if name != "link"}, link="javascript:alert(1)"
    )

    assert "sourceURL" not in json.loads(b"".join(write_profile(forged)))["meta"]
