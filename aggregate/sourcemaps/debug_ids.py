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
# The scripts that traces named and no upload, with the files of one that has the same debug id. Most have been placed
# before, so they are put aside first; `wild` are few. Anybody may give thousands of URLs one id, which as many scripts
# have once they are placed: of each id, one script is joined.
FOUND: Final = f"""
WITH wild AS MATERIALIZED (
    SELECT s.release, s.uri FROM aggregate_releasescript s
    WHERE s.project_id = %(project)s AND s.map_id IS NOT NULL AND {HAS_WILDCARD}),
of_id AS MATERIALIZED (
    SELECT DISTINCT ON (o.debug_id) o.debug_id, o.file, o.bundle_id, o.map_id FROM aggregate_releasescript o
    WHERE o.project_id = %(project)s AND o.debug_id IS NOT NULL AND o.map_id IS NOT NULL
    ORDER BY o.debug_id, o.id),
named AS MATERIALIZED (
    SELECT f.release, f.uri, f.debug_id, f.seen_at FROM ingest_scriptdebugid f
    WHERE f.project_id = %(project)s AND NOT EXISTS (
        SELECT FROM aggregate_releasescript s
        WHERE s.project_id = %(project)s AND s.release = f.release AND md5(s.uri) = md5(f.uri)
          AND s.map_id IS NOT NULL))
SELECT DISTINCT ON (f.release, f.uri) f.release, f.uri, f.debug_id, o.file, o.bundle_id, o.map_id
FROM named f JOIN of_id o ON o.debug_id = f.debug_id
WHERE NOT EXISTS (SELECT FROM wild s WHERE s.release = f.release AND {COVERS})
ORDER BY f.release, f.uri, f.seen_at, f.debug_id
LIMIT %(limit)s
"""
# Scripts that wait for a URL although their release has one with the same debug id.
PLACED: Final = f"""
SELECT s.id FROM aggregate_releasescript s
WHERE s.project_id = %(project)s AND s.uri LIKE '{ANYWHERE}%%' AND EXISTS (
    SELECT FROM aggregate_releasescript o
    WHERE o.project_id = %(project)s AND o.release = s.release AND o.debug_id = s.debug_id
      AND o.uri NOT LIKE '{ANYWHERE}%%')
ORDER BY s.id
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
