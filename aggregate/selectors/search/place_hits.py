"""Pages and releases by a part of their name, of which a project has at most `INGEST_MAX_GROUPS` pairs, and page views.

Page views are found by the whole id of their trace in a tracing system.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from aggregate.selectors.search.matching import ORDER, match_params, write_lower
from aggregate.sql import select_records
from profcore.trace.dimensions import read_request_trace


@dataclass(frozen=True, slots=True)
class PlaceHit:
    """A page or a release of a project."""

    project_id: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewHit:
    """A page view of a trace in a tracing system."""

    project_id: int
    view_id: UUID
    release: str
    page: str
    started_at: datetime


def find_views(project_ids: Sequence[int], text: str, *, limit: int) -> Sequence[ViewHit]:
    """Returns the newest views of a trace in some projects, by its id or `traceparent`. One statement, or none."""
    if (trace := read_request_trace(text)) is None:
        return ()
    return select_records(
        ViewHit,
        """SELECT r.project_id, r.view_id, g.release, g.page, min(r.view_started_at) AS started_at
           FROM ingest_tracereceipt r JOIN ingest_group g ON g.project_id = r.project_id AND g.id = r.group_id
           WHERE r.project_id = ANY(%(projects)s::bigint[]) AND r.request_trace = %(trace)s
           GROUP BY r.project_id, r.view_id, g.release, g.page
           ORDER BY started_at DESC, r.view_id, g.release, g.page LIMIT %(limit)s""",
        {"projects": list(project_ids), "trace": trace, "limit": limit},
    )


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
