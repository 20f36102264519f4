"""The values of one tag of some views, read from their raw traces."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings

from aggregate.raw_bodies import load_raw_bodies
from aggregate.selectors.page_views.raw_traces import FROM_STORED, check_kept, split_traces
from aggregate.selectors.page_views.view_rows import ViewKey
from aggregate.sql import select_records
from profcore.stats.tag_values import read_tag_value


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastTrace:
    """The last trace of a view whose raw body is kept."""

    view_id: UUID
    group_id: int
    seq: int
    received_at: datetime
    body_bytes: int


def select_tag_values(project_id: int, views: Sequence[ViewKey], prefix: str) -> list[str]:
    """Returns each view's value of the tag that begins with a prefix (`read_tag_value`), "" without such a tag.

    A page may set its tags late, and they are sent with all that follows: so the last trace of a view tells. One
    statement, and one for each batch. Raises `SliceError` if raw bodies of views have expired.
    """
    last = select_records(
        _LastTrace,
        f"""SELECT DISTINCT ON (r.view_id, r.group_id) r.view_id, r.group_id, r.seq, r.received_at, r.body_bytes
            FROM unnest(%(views)s::uuid[], %(groups)s::int[]) AS w (view_id, group_id) {FROM_STORED}
                 AND t.view_id IS NOT NULL
            ORDER BY r.view_id, r.group_id, r.seq DESC""",
        {
            "project_id": project_id,
            "views": [view_id for view_id, _ in views],
            "groups": [group_id for _, group_id in views],
        },
    )
    check_kept(len(views), len(views) - len(last))
    values: dict[ViewKey, str] = {}
    for batch in split_traces(last, settings.JOB_BATCH_TRACES):
        bodies = load_raw_bodies(project_id, [(trace.view_id, trace.seq, trace.received_at) for trace in batch])
        check_kept(len(batch), sum((trace.view_id, trace.seq) not in bodies for trace in batch))
        for trace in batch:
            values[trace.view_id, trace.group_id] = read_tag_value(bodies[trace.view_id, trace.seq].expand(), prefix)
    return [values[key] for key in views]
