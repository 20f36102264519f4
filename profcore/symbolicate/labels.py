"""Labels: the original place and name of the function at each position of a script."""

from collections.abc import Sequence
from dataclasses import dataclass

from profcore.symbolicate.maps import MapPlace, SourceMap
from profcore.symbolicate.paths import source_path
from profcore.symbolicate.scopes import FunctionText, ScopeTree, SourceFunction, read_scopes


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledOriginal:
    """A function's original: the source's index in the map, line and column from 1, its name or None.

    `body_hash` is None if the body is too short, or if the text is not known. `standing` distinguishes an anonymous
    function, or one of several with the same name, from the others of its source; None if the text is not known, or is
    in another language than JavaScript and TypeScript. `text` is None likewise, and if no function is there. Nothing
    that is shown later has to parse the source again: only the process that labels has limits.
    """

    source: int
    line: int
    column: int
    name: str | None
    body_hash: bytes | None
    standing: str | None = None
    text: FunctionText | None = None


def label_positions(
    source_map: SourceMap, positions: Sequence[tuple[int, int]], *, file: str, bundle: bytes | None
) -> list[LabelledOriginal | None]:
    """Returns the original of the function at each position (line and column from 1); None if nothing maps it.

    The name is read in the original source if the segment there belongs to the function itself. Without the bundle,
    that is certain only for a segment that begins at the position. If the map lacks the source's text, or it is in
    another language, the name is the map's name for the token that names the function in the bundle; without the bundle
    there is none. The map's name for the position itself is never used: for an arrow function it is often a parameter.
    """
    places = source_map.find(positions)
    by_source: dict[int, list[int]] = {}
    for number, place in enumerate(places):
        if place is not None:
            by_source.setdefault(place.source, []).append(number)
    generated = _Generated(source_map, bundle)
    labels: list[LabelledOriginal | None] = [None] * len(positions)
    for source, numbers in by_source.items():
        text = source_map.contents[source]
        tree = None if text is None else read_scopes(text, source_path(source_map.sources[source] or "", file))
        for number in numbers:
            place = places[number]
            assert place is not None
            name, body_hash, standing = None, None, None
            scope_text = None if tree is None else tree.find_text(place.line, place.column)
            if tree is None:
                name, body_hash = generated.name_and_body(positions[number], place)
            elif (func := tree.find(place.line, place.column)) is not None and generated.is_exact(positions[number]):
                name, body_hash, standing = func.name, func.body_hash, func.standing
            labels[number] = LabelledOriginal(
                source=source,
                line=place.line,
                column=place.column,
                name=name,
                body_hash=body_hash,
                standing=standing,
                text=scope_text,
            )
    return labels


class _Generated:
    """The bundle's side of a map, parsed once and only if needed."""

    def __init__(self, source_map: SourceMap, bundle: bytes | None) -> None:
        self._map = source_map
        self._bundle = bundle
        self._tree: ScopeTree | None = None

    def find(self, position: tuple[int, int]) -> SourceFunction | None:
        """Returns the bundle's function at a position; None without the bundle."""
        if self._tree is None and self._bundle is not None:
            text = self._bundle.decode("utf-8-sig", "replace")  # browsers do not count a byte order mark
            self._tree = ScopeTree(text, "bundle.js")
        return None if self._tree is None else self._tree.find(*position)

    def is_exact(self, position: tuple[int, int]) -> bool:
        """Returns whether the segment that maps a function's position belongs to the function itself.

        In `a=>()=>1` some generators map only `a`: there the outer function begins, not the inner one.
        """
        line, column = position
        segment_column = self._map.segment_column(line, column)
        if segment_column is None or segment_column == column:
            return segment_column is not None
        func = self.find(position)
        if func is None or self._tree is None or func.begins_at[0] > line:
            return False
        # Some generators map the `;` or `(` before the function, and mean the function.
        return func.begins_at <= (line, segment_column) or self._tree.is_bare(line, segment_column, func.begins_at[1])

    def name_and_body(self, position: tuple[int, int], place: MapPlace) -> tuple[str | None, bytes | None]:
        """Returns the original by the bundle alone, if the source's text cannot be read."""
        func = self.find(position)
        return (None, None) if func is None else (_name_of_token(self._map, place, func), func.body_hash)


def _name_of_token(source_map: SourceMap, place: MapPlace, func: SourceFunction) -> str | None:
    """Returns the original name of a function by the token that names it in the bundle."""
    if func.name_at is None:
        return None
    token = source_map.find_exactly(*func.name_at)
    if token is not None and token.name is not None:
        return token.name if token.source == place.source else None
    # Generators record the names that they changed. A map without any names records none, but properties keep theirs.
    return func.key if func.is_property or (token is not None and source_map.names) else None
