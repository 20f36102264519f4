"""Calls: the original place of positions *within* functions, as call stacks have them, and the function around each.

A label says where a function is defined (`labels`), and its position is the function's own. A call's is anywhere in it.
"""

from collections.abc import Sequence

from profcore.symbolicate.maps import SourceMap
from profcore.symbolicate.paths import source_path
from profcore.symbolicate.scopes import ScopeTree, read_scopes

OriginalPlace = tuple[str, int, int, str | None]


def place_calls(
    source_map: SourceMap, positions: Sequence[tuple[int, int]], *, file: str
) -> list[OriginalPlace | None]:
    """Returns source path, line and column of the original of each position, and the name of the function around it.

    Positions are lines and columns from 1. None if no segment maps a position. The name is None for an anonymous
    function, for code outside of functions, and without the source's text.
    """
    trees: dict[int, ScopeTree | None] = {}
    calls: list[OriginalPlace | None] = []
    for place in source_map.find(positions):
        if place is None:
            calls.append(None)
            continue
        path = source_path(source_map.sources[place.source] or "", file)
        text = source_map.contents[place.source]
        if place.source not in trees:
            trees[place.source] = None if text is None else read_scopes(text, path)
        tree = trees[place.source]
        calls.append((path, place.line, place.column, tree.name_around(place.line, place.column) if tree else None))
    return calls
