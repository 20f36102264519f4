"""Pages and releases by a part of their name. A project has at most `INGEST_MAX_GROUPS` pairs of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aggregate.selectors.search.matching import ORDER, match_params, write_lower
from aggregate.sql import select_records


@dataclass(frozen=True, slots=True)
class PlaceHit:
    """A page or a release of a project."""

    project_id: int
    name: str


def find_pages(project_ids: Sequence[int], text: str, *, limit: int) -> Sequence[PlaceHit]:
    """Returns pages of some projects that contain a text, better matches first. One statement."""
    return _find("page", project_ids, text, limit)


def find_releases(project_ids: Sequence[int], text: str, *, limit: int) -> Sequence[PlaceHit]:
    """Returns releases of some projects that contain a text, better matches first, then newer ones. One statement."""
    return _find("release", project_ids, text, limit)


def _find(column: Literal["page", "release"], project_ids: Sequence[int], text: str, limit: int) -> list[PlaceHit]:
    """Groups without data are closed, and their pages would be empty."""
    matched = write_lower(f"g.{column}")
    return select_records(
        PlaceHit,
        f"""SELECT project_id, name FROM (
                SELECT g.project_id, g.{column} AS name, {matched} AS matched, max(g.first_seen_at) AS seen_at
                FROM ingest_group g
                WHERE g.project_id = ANY(%(projects)s::bigint[]) AND g.closed_at IS NULL
                  AND {matched} LIKE %(anywhere)s
                GROUP BY g.project_id, g.{column}) AS hits
            ORDER BY {ORDER}, seen_at DESC, name, project_id LIMIT %(limit)s""",
        {"projects": list(project_ids), "limit": limit, **match_params(text)},
    )
