"""Scripts that are found by their debug ids: a trace says which id the script of a URL has, an upload has its map.

Anybody may post a trace. So a URL that an upload names, or that has got its map by an id, keeps it; of several ids that
traces gave one URL of a release, the first counts that has a map. A lie labels no other URL or release than its own.
"""

from collections import defaultdict
from typing import Final

from django.db import connection, transaction

from aggregate.sourcemaps.deleting import delete_scripts
from aggregate.sourcemaps.script_locks import lock_scripts
from aggregate.sourcemaps.scripts import ScriptRow, write_scripts
from aggregate.sourcemaps.wildcards import COVERS, HAS_WILDCARD
from profcore.symbolicate.paths import ANYWHERE

BATCH: Final = 1_000  # scripts of one transaction
# The scripts that traces named and no upload, with the files of the first that has the same debug id. `wild` are few.
# Of the others anybody may name thousands, with one id or many. So they meet by sorting: in a join, PostgreSQL compares
# each with each where it has no statistics of the tables yet.
FOUND: Final = f"""
WITH wild AS MATERIALIZED (
    SELECT s.release, s.uri FROM aggregate_releasescript s
    WHERE s.project_id = %(project)s AND s.map_id IS NOT NULL AND {HAS_WILDCARD}),
named AS (
    SELECT NULL::bigint AS id, f.release, f.uri, f.debug_id, f.seen_at,
           NULL::text AS file, NULL::bigint AS bundle_id, NULL::bigint AS map_id
    FROM ingest_scriptdebugid f WHERE f.project_id = %(project)s
    UNION ALL
    SELECT s.id, s.release, s.uri, s.debug_id, NULL, s.file, s.bundle_id, s.map_id
    FROM aggregate_releasescript s WHERE s.project_id = %(project)s AND s.map_id IS NOT NULL),
seen AS (
    SELECT id, release, uri, debug_id, seen_at, bool_or(id IS NOT NULL) OVER (PARTITION BY release, uri) AS is_placed,
           first_value(file) OVER of_id AS file, first_value(bundle_id) OVER of_id AS bundle_id,
           first_value(map_id) OVER of_id AS map_id
    FROM named WINDOW of_id AS (PARTITION BY debug_id ORDER BY id))
SELECT DISTINCT ON (f.release, f.uri) f.release, f.uri, f.debug_id, f.file, f.bundle_id, f.map_id
FROM seen f
WHERE f.id IS NULL AND NOT f.is_placed AND f.map_id IS NOT NULL
  AND NOT EXISTS (SELECT FROM wild s WHERE s.release = f.release AND {COVERS})
ORDER BY f.release, f.uri, f.seen_at, f.debug_id
LIMIT %(limit)s
"""
# Scripts that wait for a URL although their release has one with the same debug id.
PLACED: Final = f"""
SELECT id FROM (
    SELECT s.id, s.uri, bool_or(s.uri NOT LIKE '{ANYWHERE}%%') OVER (PARTITION BY s.release, s.debug_id) AS is_placed
    FROM aggregate_releasescript s WHERE s.project_id = %(project)s AND s.debug_id IS NOT NULL) AS scripts
WHERE uri LIKE '{ANYWHERE}%%' AND is_placed
ORDER BY id
"""


def place_scripts(project_id: int) -> int:
    """Gives scripts the URLs that traces gave their debug ids; returns how many are new, which are pending then."""
    found: dict[str, list[ScriptRow]] = defaultdict(list)
    with transaction.atomic(), connection.cursor() as cursor:
        lock_scripts(project_id)
        cursor.execute(FOUND, {"project": project_id, "limit": BATCH})
        rows = cursor.fetchall()
        for release, uri, debug_id, file, bundle_id, map_id in rows:
            row = ScriptRow(
                uri=uri,
                file=file,
                is_shared=False,  # each release's traces say it: what was said of another one is not believed here
                bundle_id=bundle_id,
                map_id=map_id,
                debug_id=debug_id,
            )
            found[release].append(row)
        for release, scripts in sorted(found.items()):
            write_scripts(project_id, release, scripts)
        cursor.execute(PLACED, {"project": project_id})
        delete_scripts(project_id, [script_id for (script_id,) in cursor.fetchall()])
    return len(rows)
