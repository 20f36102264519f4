"""Functions by a part of their name or file: as the wire names them, and as source maps do.

There is no index of parts of names: PostgreSQL has one only as an extension, which not every server has. So the names
of a bounded number of functions are read, the newest first: 200,000 take about 0.1 s.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from aggregate.label_models import MAPPED
from aggregate.selectors.code.labels import place_of
from aggregate.selectors.search.matching import ORDER, match_params, rank_name, write_lower
from aggregate.sql import select_records
from profcore.code.identity import without_hash

# Candidates of one statement: a function is found once for each bundle that has it, under other hashes.
CANDIDATES: Final = 100

FUNC_FILE: Final = "split_part(f.uri, '/', -1)"
SOURCE_FILE: Final = "split_part(s.path, '/', -1)"

# The projects that have traces, from a table whose rows lie with their functions if workers of Citus have both.
WANTED: Final = "(SELECT DISTINCT g.project_id FROM ingest_group g WHERE g.project_id = ANY(%(projects)s::bigint[]))"


def _write_funcs(name: str, where: str) -> str:
    """Returns the statement for functions as the wire names them, with their labels of the newest release.

    Of those with one name in one file, the newest.
    """
    return f"""
WITH found AS (
    SELECT w.project_id, f.name, {FUNC_FILE} AS file, matched, max(f.id) AS id
    FROM {WANTED} AS w
    CROSS JOIN LATERAL (SELECT n.id, n.name, n.uri FROM aggregate_func n WHERE n.project_id = w.project_id
                        ORDER BY n.id DESC LIMIT %(scan)s) AS f
    CROSS JOIN LATERAL (SELECT {write_lower(name)} AS matched) AS m
    WHERE {where} GROUP BY 1, 2, 3, 4 ORDER BY {ORDER}, max(f.id) DESC LIMIT %(limit)s)
SELECT found.project_id, f.id AS func_id, COALESCE(l.name, f.name) AS name, COALESCE(l.path, f.uri) AS uri,
       COALESCE(l.line, f.line) AS line, COALESCE(l.col, f.col) AS col
FROM found JOIN aggregate_func f ON f.project_id = found.project_id AND f.id = found.id
LEFT JOIN LATERAL (
    SELECT COALESCE(l.name, '') AS name, s.path, l.line, l.col
    FROM aggregate_label l JOIN aggregate_source s ON s.project_id = l.project_id AND s.id = l.source_id
    WHERE l.project_id = f.project_id AND l.func_id = f.id AND l.status = {MAPPED}
    ORDER BY l.release DESC LIMIT 1) AS l ON true
"""


def _write_labels(name: str, where: str) -> str:
    """Returns the statement for functions as source maps name them: the newest of each name in each source."""
    return f"""
WITH found AS (
    SELECT w.project_id, matched, l.name, s.path, max(l.func_id) AS func_id
    FROM {WANTED} AS w
    CROSS JOIN LATERAL (SELECT n.func_id, n.name, n.source_id FROM aggregate_label n
                        WHERE n.project_id = w.project_id ORDER BY n.func_id DESC, n.release DESC LIMIT %(scan)s) AS l
    JOIN aggregate_source s ON s.project_id = w.project_id AND s.id = l.source_id
    CROSS JOIN LATERAL (SELECT {write_lower(name)} AS matched) AS m
    WHERE {where} GROUP BY 1, 2, 3, 4 ORDER BY {ORDER}, max(l.func_id) DESC LIMIT %(limit)s)
SELECT DISTINCT ON (1, 2, 3, 4)
       found.project_id, found.func_id, COALESCE(found.name, '') AS name, found.path AS uri, l.line, l.col
FROM found JOIN aggregate_label l ON l.project_id = found.project_id AND l.func_id = found.func_id
     AND l.status = {MAPPED} AND l.name IS NOT DISTINCT FROM found.name
ORDER BY 1, 2, 3, 4, l.release DESC
"""


MATCHED: Final = "matched LIKE %(anywhere)s"
NAMES: Final = (_write_labels("l.name", MATCHED), _write_funcs("f.name", MATCHED))
# The host is in every URI: only the file name may match, and it is cut out of those URIs that contain the text.
FILES: Final = (
    _write_labels(SOURCE_FILE, f"{write_lower('s.path')} LIKE %(anywhere)s AND {MATCHED}"),
    _write_funcs(FUNC_FILE, f"{write_lower('f.uri')} LIKE %(anywhere)s AND {MATCHED}"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionHit:
    """A function: the newest func of this name in this file. `uri` is its script, or its original source."""

    project_id: int
    func_id: int
    name: str
    uri: str | None
    line: int | None
    col: int | None

    @property
    def place(self) -> str:
        """`file:line:column` of its definition, "" for a built-in."""
        return place_of(self.uri, self.line, self.col)


def find_functions(project_ids: Sequence[int], text: str, *, limit: int) -> Sequence[FunctionHit]:
    """Returns functions of some projects whose name contains a text, better matches first.

    If they are too few, those whose file's name contains it follow. Reads at most `SEARCH_MAX_FUNCS` functions of all
    projects together. Two to four statements.
    """
    params = {
        "projects": list(project_ids),
        "scan": settings.SEARCH_MAX_FUNCS // max(1, len(project_ids)),
        "limit": CANDIDATES,
        **match_params(text),
    }
    functions: list[FunctionHit] = []
    for statements in (NAMES, FILES):
        rows = [row for statement in statements for row in select_records(FunctionHit, statement, params)]
        functions = _keep_distinct(
            [*functions, *sorted(rows, key=lambda row: (*rank_name(row.name, text), -row.func_id))]
        )
        if len(functions) >= limit:
            break
    return functions[:limit]


def _keep_distinct(rows: Iterable[FunctionHit]) -> list[FunctionHit]:
    """Returns the rows without repeats: of rows that differ only in the hash of a bundle's name, the first."""
    kept: dict[tuple[int, str, str | None], FunctionHit] = {}
    for row in rows:
        kept.setdefault((row.project_id, row.name, without_hash(row.uri) if row.uri else None), row)
    return list(kept.values())
