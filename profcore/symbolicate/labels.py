"""Labels: where the function at each position of a script comes from, and what it is called there."""

from collections.abc import Sequence
from dataclasses import dataclass

from profcore.symbolicate.maps import Place, SourceMap
from profcore.symbolicate.paths import source_path
from profcore.symbolicate.scopes import Found, ScopeTree


@dataclass(frozen=True, slots=True)
class Original:
    """A function's original: the source's index in the map, line and column from 1, its name or None.

    `body_hash` is None for what is too short to be told apart, or lies in no text that is known.
    """

    source: int
    line: int
    column: int
    name: str | None
    body_hash: bytes | None


def label_positions(
    source_map: SourceMap, positions: Sequence[tuple[int, int]], *, file: str, bundle: bytes | None
) -> list[Original | None]:
    """Returns the original of the function at each position (line and column from 1), None where nothing maps it.

    The name is read in the original source. Where the map has not its text, it is the map's name for the token that
    names the function in the bundle; without the bundle there is none. A map's name for the position itself is never
    taken: it is an arrow's parameter as often as not.
    """
    places = source_map.find(positions)
    by_source: dict[int, list[int]] = {}
    for number, place in enumerate(places):
        if place is not None:
            by_source.setdefault(place.source, []).append(number)
    labels: list[Original | None] = [None] * len(positions)
    generated: ScopeTree | None = None
    for source, numbers in by_source.items():
        text = source_map.contents[source]
        if text is not None:
            tree = ScopeTree(text, source_path(source_map.sources[source] or "", file))
        elif bundle is not None:
            tree = generated = generated or ScopeTree(bundle.decode("utf-8", "replace"), "bundle.js")
        else:
            tree = None
        for number in numbers:
            place = places[number]
            assert place is not None
            if tree is None or text is not None:
                found = None if tree is None else tree.find(place.line, place.column)
                name = None if found is None else found.name
            else:
                found = tree.find(*positions[number])
                name = _name_of_token(source_map, place, found)
            body_hash = None if found is None else found.body_hash
            labels[number] = Original(source, place.line, place.column, name, body_hash)
    return labels


def _name_of_token(source_map: SourceMap, place: Place, found: Found | None) -> str | None:
    """Returns the original name of a function by the token that names it in the bundle."""
    if found is None or found.name_at is None:
        return None
    token = source_map.find_exactly(*found.name_at)
    if token is not None and token.name is not None:
        return token.name if token.source == place.source else None
    # Generators name what they renamed. A map without any name renamed in silence; but properties keep theirs.
    return found.key if found.is_property or (token is not None and source_map.names) else None
