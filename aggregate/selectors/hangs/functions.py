"""The functions that frames of reported stacks are in: a stack has call positions, a func where it is defined."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import connection

from aggregate.selectors.code.labels import label_original, place_of
from aggregate.selectors.code.symbols import FuncLabel, RowId, load_symbols
from profcore.hangs.stacks import CallFrame, bare_name

Spot = tuple[str, CallFrame]  # a release, and a frame of one of its stacks


@dataclass(frozen=True, slots=True, kw_only=True)
class HungFunction:
    """A function that traces of the project know: its id in tables, and its label in a release."""

    row_id: RowId
    label: FuncLabel | None

    @property
    def name(self) -> str | None:
        """The original's name; None without a source map."""
        return label_original(self.label.original) if self.label else None

    @property
    def place(self) -> str | None:
        """`file:line:column` of the original's definition; None without a source map."""
        if self.label is None:
            return None
        original = self.label.original
        return place_of(original.source, original.line, original.column)


def find_functions(project_id: int, spots: Iterable[Spot]) -> dict[Spot, HungFunction]:
    """Returns the functions of frames, of those whose function is known. Two statements, one more with source maps.

    It is the func of that name that begins last before the call in that script. Of anonymous functions too many have
    the same name to say so.
    """
    wanted = [(release, frame) for release, frame in dict.fromkeys(spots) if frame.line and bare_name(frame.name)]
    wanted = [spot for spot in wanted if not spot[1].is_eval]
    if not wanted:
        return {}
    func_ids = _select_last_before(project_id, [frame for _, frame in wanted])
    pairs = {spot: (spot[0], func_ids[spot[1]]) for spot in wanted if spot[1] in func_ids}
    labels = load_symbols(project_id).labels
    if labels is None:
        return {spot: HungFunction(row_id=func_id, label=None) for spot, (_, func_id) in pairs.items()}
    labels.load(pairs.values())
    return {spot: HungFunction(row_id=labels.id_of(*pair), label=labels.of(*pair)) for spot, pair in pairs.items()}


def _select_last_before(project_id: int, frames: Sequence[CallFrame]) -> dict[CallFrame, int]:
    frames = list(dict.fromkeys(frames))
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT DISTINCT ON (w.number) w.number, f.id
               FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[])
                    WITH ORDINALITY AS w (uri, name, line, col, number)
               JOIN aggregate_func f ON md5(f.uri) = md5(w.uri) AND f.uri = w.uri AND f.name = w.name
                    AND (f.line, f.col) <= (w.line, w.col)
               WHERE f.project_id = %s
               ORDER BY w.number, f.line DESC, f.col DESC, f.id DESC""",
            [
                [frame.uri for frame in frames],
                [bare_name(frame.name) for frame in frames],
                [frame.line for frame in frames],
                [frame.column for frame in frames],
                project_id,
            ],
        )
        return {frames[number - 1]: func_id for number, func_id in cursor}
