"""Scripts whose address has `*.` for its host: `https://*.shop.example/main.js` is served by every subdomain.

Their URIs are stored as they are. So their funcs are found by comparing hosts and paths, not by the index on URIs.
"""

from collections.abc import Collection
from typing import Final

from django.db import connection

from profcore.trace.addresses import MAX_LABELS, WILDCARD, wildcard_forms

HAS_WILDCARD: Final = f"strpos(s.uri, '{WILDCARD}') > 0"


def _path_of(uri: str) -> str:
    """Returns SQL for a URI's path, from the third slash on."""
    return f"substr({uri}, length(split_part({uri}, '/', 1)) + length(split_part({uri}, '/', 3)) + 3)"


# Whether a script `s` with a wildcard covers the URI of `f`. The paths are compared first: such a join is fast.
COVERS: Final = f"""{_path_of("f.uri")} = {_path_of("s.uri")}
    AND split_part(f.uri, '/', 1) = split_part(s.uri, '/', 1)
    AND right(split_part(f.uri, '/', 3), length(split_part(s.uri, '/', 3)) - 1)
      = substr(split_part(s.uri, '/', 3), 2)"""

# The URIs of scripts that may cover `f`: its own, and its `wildcard_forms`. So the index on scripts' URIs finds them.
NAMES: Final = f"""SELECT f.uri UNION ALL
    SELECT split_part(f.uri, '/', 1) || '//*.' || array_to_string(labels[number:], '.') || {_path_of("f.uri")}
    FROM string_to_array(split_part(f.uri, '/', 3), '.') AS labels,
         generate_series(2, least(cardinality(labels), {MAX_LABELS + 1})) AS number"""


def is_among(uri: str, scripts: Collection[str]) -> bool:
    """Returns whether a URI is one of some scripts, or one with a wildcard covers it."""
    return uri in scripts or any(form in scripts for form in wildcard_forms(uri))


def mark_covering_scripts(project_id: int, after_id: int, last_id: int) -> int:
    """Marks scripts with a wildcard as pending if they cover funcs in a range of ids; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""UPDATE aggregate_releasescript s SET pending_at = statement_timestamp()
                FROM (SELECT uri, max(id) AS last_id FROM aggregate_func
                      WHERE project_id = %s AND id > %s AND id <= %s AND uri IS NOT NULL GROUP BY 1) f
                WHERE s.project_id = %s AND {HAS_WILDCARD} AND s.map_id IS NOT NULL AND s.failure IS NULL
                  AND s.labelled_func_id < f.last_id AND {COVERS}""",
            [project_id, after_id, last_id, project_id],
        )
        return int(cursor.rowcount)


def load_covered_funcs(
    project_id: int, release: str, uri: str, *, after_id: int, limit: int
) -> list[tuple[int, int, int]]:
    """Returns the next funcs that a script with a wildcard covers: id, line and column.

    Those of a script that the release has with this very address are left to it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT f.id, f.line, f.col FROM aggregate_func f CROSS JOIN (SELECT %s::text AS uri) s
                WHERE f.project_id = %s AND f.id > %s AND f.line IS NOT NULL AND f.col IS NOT NULL AND {COVERS}
                  AND NOT EXISTS (SELECT FROM aggregate_releasescript e
                    WHERE e.project_id = f.project_id AND e.release = %s AND e.map_id IS NOT NULL
                      AND md5(e.uri) = md5(f.uri) AND e.uri = f.uri)
                ORDER BY f.id LIMIT %s""",
            [uri, project_id, after_id, release, limit],
        )
        return list(cursor.fetchall())
