"""The domains that count as the project's own, from its keys, or also from its inline scripts."""

import time
from typing import Final

from django.db import connection

from profcore.caching import keep
from profcore.code.sites import sites_of

# As long as the endpoint trusts a key. For as long, a new inline script may pass for a third party's.
SITES_CACHE_S: Final = 10.0

_known: Final[dict[int, tuple[float, frozenset[str]]]] = keep({})


def select_sites(project_id: int) -> frozenset[str]:
    """Returns the sites of a project's live keys. If a key takes any origin, adds those of its inline scripts.

    A script whose URI is origin + route is inline in a page of the project; folding notes such origins. The sites are
    cached for some seconds. At most one statement.
    """
    now = time.monotonic()
    cached = _known.get(project_id)
    if cached is not None and now - cached[0] < SITES_CACHE_S:
        return cached[1]
    origins = _select_origins(project_id)
    sites = sites_of(origins)
    if "*" in origins:
        _known[project_id] = (now, sites)
    return sites


def _select_origins(project_id: int) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH origins AS (SELECT unnest(k.origins) AS origin FROM projects_ingestkey k
                                WHERE k.project_id = %(project_id)s AND k.revoked_at IS NULL)
               SELECT origin FROM origins
               UNION SELECT i.origin FROM aggregate_inlineorigin i
                     WHERE i.project_id = %(project_id)s AND EXISTS (SELECT FROM origins WHERE origin = '*')""",
            {"project_id": project_id},
        )
        return [origin for (origin,) in cursor]
