"""Every format says the same of a slice: self and total of every func, folded back by readers of our own."""

import pytest

from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import ExportFunc, SliceExport
from tests.profcore.formats.builders import export_of
from tests.profcore.formats.readers import READERS, told_sums
from tests.proof.recorded import Group, export_group, groups

HOSTILE = (
    "(idle)",
    "(root)",
    "(program)",
    "(garbage collector)",
    "(hidden) of the page's own",
    "a;b;c 1",
    "line\nfeed\r\nand\ttab\x00",
    "</script><img src=x onerror=alert(1)>",
    "\u202eright to left",
    "no-break\u00a0space, next line\u0085, paragraph\u2029, wide\u3000space",
    "back\\slash \\n \\x3b",
    '"quoted", and, commas',
    "=HYPERLINK(1)",
    "'apostrophe",
    "naïve 😀 \x1b[2J",
    "RunTask",
    "ProfileChunk",
    " spaces around ",
    "lone \ud800 surrogate",
    "halves \ud83d\ude00 of a pair",
    "x" * 5_000,
)


def hostile_export() -> SliceExport:
    """Returns a slice with a func of every name, by itself and called by the one before; then built-ins of the same."""
    funcs = [ExportFunc(name, name, f"https://shop.example/{n}.js", n + 1, 2) for n, name in enumerate(HOSTILE)]
    funcs += [ExportFunc(f"{name} native", f"{name} native") for name in HOSTILE]
    export = export_of({"main": 1_000}, funcs=[ExportFunc("main", "main"), *funcs], hidden_us=77, idle_us=123)
    for func in range(1, len(funcs) + 1):
        for prefix, us in ((-1, 10 + func), (func - 1, 3)):
            export.tree.prefix.append(prefix)
            export.tree.func.append(func)
            export.tree.self_us.append(us)
            export.tree.self_samples.append(1)
            export.tree.hidden_us.append(0)
    export.time.js_us = sum(export.tree.self_us)
    return export


def find_differences(export: SliceExport, format_name: str) -> list[str]:
    """Returns a line for each func of which a format says something else than the export."""
    told = READERS[format_name]
    expected = told_sums(export, told)
    found = told.read(b"".join(EXPORTERS[told.exporter].write(export)))
    lines = [f"idle: {found.idle_us}, not {expected.idle_us}"] if found.idle_us != expected.idle_us else []
    for what, ours, theirs in (
        ("self", expected.self_us, found.self_us),
        ("total", expected.total_us, found.total_us),
    ):
        for key in ours.keys() | theirs.keys():
            if ours.get(key) != theirs.get(key):
                lines.append(f"{what} of {key}: {theirs.get(key)}, not {ours.get(key)}")
    return lines


@pytest.mark.parametrize("format_name", READERS)
@pytest.mark.parametrize("group", groups(), ids=" ".join)
def test_recorded_slices_are_the_same_in_every_format(group: Group, format_name: str) -> None:
    assert find_differences(export_group(group), format_name) == []


@pytest.mark.parametrize("format_name", READERS)
def test_hostile_names_are_the_same_in_every_format(format_name: str) -> None:
    export = hostile_export()
    assert find_differences(export, format_name) == []


@pytest.mark.parametrize("format_name", READERS)
def test_recursion_counts_once_in_every_format(format_name: str) -> None:
    export = export_of({"walk walk walk": 5_000, "walk": 1_000, "main walk": 2_000}, hidden_us=500, idle_us=1)
    assert find_differences(export, format_name) == []


@pytest.mark.parametrize("format_name", READERS)
def test_an_empty_slice_is_a_file_in_every_format(format_name: str) -> None:
    assert find_differences(export_of({}), format_name) == []


@pytest.mark.parametrize("format_name", READERS)
def test_a_file_with_a_sample_moved_is_noticed(format_name: str) -> None:
    # The comparison itself: the same slice with a µs at another func must differ.
    told = READERS[format_name]
    moved = told.read(b"".join(EXPORTERS[told.exporter].write(export_of({"main render": 4, "main": 2}))))
    assert moved.self_us != told_sums(export_of({"main render": 3, "main": 3}), told).self_us
