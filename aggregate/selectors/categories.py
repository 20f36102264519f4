"""A project's own sites, and the groups its funcs fall into."""

from collections.abc import Callable, Mapping
from typing import Final

from django.db import connection

from profcore.categories import NO_GROUP, categorize, origin_of, package_of, sites_of
from profcore.funcs import FuncKey

GROUPINGS: Final = ("file", "package", "origin", "category")


def select_sites(project_id: int) -> frozenset[str]:
    """Returns the sites of a project's live keys; where a key takes any origin, those of its inline scripts too.

    A script whose URI is origin + route stands in a page of the project. One statement.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            r"""WITH origins AS (SELECT unnest(k.origins) AS origin FROM ingest_ingestkey k
                                WHERE k.project_id = %(project_id)s AND k.revoked_at IS NULL)
                SELECT origin FROM origins
                UNION SELECT substring(f.uri FROM '^https?://[^/]+') FROM aggregate_func f
                      WHERE f.project_id = %(project_id)s AND EXISTS (SELECT FROM origins WHERE origin = '*')
                        AND substring(f.uri FROM '^https?://[^/]+(/.*)$')
                            IN (SELECT g.page FROM ingest_group g WHERE g.project_id = %(project_id)s)""",
            {"project_id": project_id},
        )
        return sites_of(row[0] for row in cursor)


def group_of(by: str, sites: frozenset[str]) -> Callable[[FuncKey], str]:
    """Returns what names the group of a func. `by` is one of `GROUPINGS`; what has no group is `(none)`."""
    namers: Mapping[str, Callable[[FuncKey], str | None]] = {
        "file": lambda key: key.uri,
        "package": lambda key: package_of(key.uri),
        "origin": lambda key: origin_of(key.uri),
        "category": lambda key: categorize(key, sites),
    }
    name = namers[by]
    return lambda key: name(key) or NO_GROUP
