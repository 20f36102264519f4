"""The recorded apps' funcs against the symbolication of an independent library and parser: positions all, names but
for the causes that docs/source-maps.md explains.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from profcore.symbolicate.labels import LabelledOriginal, label_positions
from profcore.symbolicate.maps import SourceMap, read_map
from profcore.symbolicate.paths import source_path
from tests.builds import Json, build_files, manifest, needs_builds, symbols

pytestmark = pytest.mark.slow(15)

ANONYMOUS = ("", "(anonymous)")


@cache
def map_of(uri: str) -> SourceMap:
    return read_map(build_files()[manifest()[uri]["map"]])


def labelled(*, without_contents: bool = False) -> Iterator[tuple[Json, SourceMap, LabelledOriginal | None]]:
    """Yields each recorded func of a script with a map: the library's result, the map, and our label."""
    by_uri: dict[str, list[Json]] = {}
    for symbol in symbols():
        if symbol["uri"] in manifest():
            by_uri.setdefault(symbol["uri"], []).append(symbol)
    for uri, bundle_symbols in by_uri.items():
        source_map = map_of(uri)
        if without_contents:
            source_map = read_map(build_files()[manifest()[uri]["map"]])
            source_map.contents = [None] * len(source_map.contents)
        bundle = build_files()[manifest()[uri]["file"]]
        positions = [(symbol["line"], symbol["column"]) for symbol in bundle_symbols]
        labels = label_positions(source_map, positions, file=manifest()[uri]["file"], bundle=bundle)
        for symbol, label in zip(bundle_symbols, labels, strict=True):
            yield symbol, source_map, label


def cause_of(symbol: Json, label: LabelledOriginal) -> str:
    """Returns how a name agrees with the library's, or why it does not."""
    wanted = symbol["functionName"]
    if label.name == (None if wanted in ANONYMOUS else wanted):
        return "agrees"
    if wanted in ANONYMOUS and label.name is not None and label.name.startswith("on"):
        return "key of a JSX attribute"
    if label.name is None and symbol["fn"]["match"] == "enclosing" and wanted.startswith("/"):
        return "wrapper of the bundler, inside of the function"
    if label.name is None and symbol["fn"].get("kind") == "ClassDeclaration":
        return "wrapper of the bundler, mapped by the variable before it"
    if wanted == "" and symbol["origColumn"] == len("export ") + 1 and label.name == symbol["mapName"]:
        return "mapped to the word `default`"
    return f"{wanted!r} is {label.name!r} here"


@needs_builds
def test_every_mapped_func_agrees_in_source_line_and_column() -> None:
    counts: Counter[str] = Counter()
    for symbol, source_map, label in labelled():
        if symbol["status"] == "mapped":
            assert label is not None
            place = (source_map.sources[label.source], label.line, label.column)
            assert place == (symbol["source"], symbol["origLine"], symbol["origColumn"])
        else:
            assert label is None
        counts[symbol["status"]] += 1
    assert counts["mapped"] > 2_000
    assert counts["unmapped"] > 0


@needs_builds
def test_names_agree_but_for_the_causes_that_are_documented() -> None:
    causes = Counter(cause_of(symbol, label) for symbol, _, label in labelled() if label is not None)
    assert causes == {
        "agrees": 2_359,
        "key of a JSX attribute": 14,
        "mapped to the word `default`": 2,
        "wrapper of the bundler, inside of the function": 6,
        "wrapper of the bundler, mapped by the variable before it": 2,
    }


@needs_builds
def test_without_sources_no_func_gets_a_neighbours_name() -> None:
    causes = Counter(
        cause_of({**symbol, "functionName": symbol["functionName"].rpartition(".")[2]}, label)
        for symbol, _, label in labelled(without_contents=True)
        if label is not None and label.name is not None
    )
    assert causes == {"agrees": 1_765, "key of a JSX attribute": 14, "mapped to the word `default`": 2}


@needs_builds
def test_a_source_has_one_path_in_all_releases_and_apps() -> None:
    for symbol, source_map, label in labelled():
        if label is not None:
            file = manifest()[symbol["uri"]]["file"].partition("/")[2].partition("/")[2]
            ours = source_path(source_map.sources[label.source] or "", file)
            assert ours == symbol["sourcePath"] or ours.endswith("/" + symbol["sourcePath"]), (ours, symbol, file)
