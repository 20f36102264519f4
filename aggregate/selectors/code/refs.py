"""A function named by the id of its row in a table, and the funcs of each release that it stands for."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from aggregate.selectors.code.symbols import Labels, Pair, RowId, Symbols, load_symbols
from aggregate.sourcemaps.wildcards import NAMES


@dataclass(frozen=True, slots=True)
class FuncRef:
    """A function: its id in tables, and its funcs.

    `pairs` are the (release, func) in which a func is this function; without them it is so in all releases.
    """

    row_id: RowId
    funcs: tuple[int, ...]
    pairs: frozenset[Pair] | None = None

    def funcs_in(self, release: str) -> tuple[int, ...]:
        """Returns the funcs that are this function in a release."""
        if self.pairs is None:
            return self.funcs
        return tuple(func for func in self.funcs if (release, func) in self.pairs)


def find_ref(project_id: int, func: RowId, code: Symbols | None = None) -> FuncRef:
    """Returns the function of an id, without funcs if there is none. The id of any of its funcs also finds it.

    A func may be different functions in different releases. It then stands for its function in the newest release with
    a label for it. Two statements, and five more if the project has source maps.
    """
    code = code or load_symbols(project_id)
    stored = (func,) if isinstance(func, int) else ()
    if code.labels is None:
        return FuncRef(func, stored)
    releases = list_releases(project_id)
    row_id = _row_of(code.labels, func, releases) if isinstance(func, int) else func
    funcs = sorted({*stored, *code.labels.funcs_of(str(row_id))})
    everywhere = [(release, func_id) for release in releases for func_id in funcs]
    code.labels.load(everywhere)
    pairs = frozenset(pair for pair in everywhere if code.labels.id_of(*pair) == row_id)
    return FuncRef(row_id, tuple(sorted({func_id for _, func_id in pairs})), pairs)


def _row_of(labels: Labels, func: int, releases: list[str]) -> RowId:
    """Returns the id of a func's row in the newest release that has a label for it."""
    labels.load([(release, func) for release in releases])
    labelled = [release for release in releases if labels.of(release, func) is not None]
    return labels.id_of((labelled or releases or [""])[0], func)


def list_releases(project_id: int) -> list[str]:
    """Returns a project's releases, the newest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT release FROM ingest_group WHERE project_id = %s
               GROUP BY 1 ORDER BY min(first_seen_at) DESC, 1 DESC""",
            [project_id],
        )
        return [release for (release,) in cursor]


def find_home(project_id: int, ref: FuncRef, wanted: Sequence[str] = ()) -> Pair | None:
    """Returns the release and func that show a function: in the newest wanted release that has it, else in the newest.

    Labels of a URL with a content hash serve all releases, also those that have another file. So releases whose own
    uploads have the func's script come first. None if no release is known. Two statements.
    """
    if not ref.pairs:
        return None
    owned = ref.pairs & select_owned(project_id, ref.funcs)
    order = {release: place for place, release in enumerate(list_releases(project_id))}
    places = [
        (release not in wanted, pair not in owned, order.get(release, len(order)), -func, release, func)
        for pair in ref.pairs
        for release, func in [pair]
    ]
    *_, release, func = min(places)
    return release, func


def select_owned(project_id: int, funcs: Sequence[int]) -> frozenset[Pair]:
    """Returns the releases that have uploaded the scripts of some funcs, with these funcs. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT r.release, f.id FROM aggregate_func f CROSS JOIN LATERAL ({NAMES}) script (uri)
               JOIN aggregate_releasescript r
                 ON r.project_id = f.project_id AND md5(r.uri) = md5(script.uri) AND r.uri = script.uri
               WHERE f.project_id = %s AND f.id = ANY(%s::int[])""",
            [project_id, list(funcs)],
        )
        return frozenset(cursor.fetchall())
