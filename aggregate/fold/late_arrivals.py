"""Views whose contribution has expired while their cells kept the sums: it is rebuilt from the raw traces.

A late trace is a trace that arrives after its view's row has expired. It may add only new values to its cell, so the
old contribution must be known. Without it, the funcs that the view ran before would be counted as run by one more view.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db import connection

from aggregate.fold.batch import FoldedBatch, ViewKey, fold_claim
from aggregate.fold.claims import Claim, ClaimedTrace, read_claimed
from aggregate.fold.writes import StoredView
from ingest.models import FOLDED
from profcore.sums.blobs import decode_contribution


class ViewsExpired(Exception):
    """Earlier traces of these views were folded, and neither their contributions nor their raw traces are left."""

    def __init__(self, keys: frozenset[ViewKey]) -> None:
        super().__init__(f"{len(keys)} views have expired")
        self.keys = keys


class GroupShared(Exception):
    """A view must be rebuilt, which needs the lock of its group alone. Nothing was written."""


def rebuild_views(
    project_id: int, places: Mapping[ViewKey, int], *, is_shared: bool = False
) -> dict[ViewKey, StoredView]:
    """Returns the rebuilt rows of the views that have folded traces but no row. `places` are the cells of the views.

    Call under the groups' locks: such views are rare, and the traces decoded here were folded before without harm.
    Raises `ViewsExpired` for views that cannot be rebuilt, and for views whose cell has expired with its sums; and
    `GroupShared` if there are views to rebuild and other folds share a group: they would be counted as without a row.
    """
    earlier = load_folded(project_id, places)
    if not earlier:
        return {}
    if is_shared:
        raise GroupShared
    batch = fold_claim(Claim(project_id=project_id, is_alone=False, traces=earlier))
    lost = {(rejection.trace.view_id, rejection.trace.group_id) for rejection in batch.rejected}
    dropped = {(trace.view_id, trace.group_id) for trace in earlier}
    wanted = Counter(places[key] for key in dropped)
    in_sums = count_without_row(project_id, sorted(wanted))
    lost |= {key for key in dropped if wanted[places[key]] > in_sums.get(places[key], 0)}
    if lost:
        raise ViewsExpired(frozenset(lost))
    return views_of(batch, places)


def count_without_row(project_id: int, cell_ids: Sequence[int]) -> dict[int, int]:
    """Returns the number of views in each cell's sums whose rows are gone.

    It is 0 for a cell that has expired and was created again: its new views have their rows, which expire with it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.id, c.views - (SELECT count(*) FROM aggregate_pageview v
                                       WHERE v.project_id = %(project_id)s AND v.cell_id = c.id)
               FROM aggregate_cell c WHERE c.project_id = %(project_id)s AND c.id = ANY(%(cell_ids)s::int[])""",
            {"project_id": project_id, "cell_ids": list(cell_ids)},
        )
        return dict(cursor.fetchall())


def views_of(batch: FoldedBatch, places: Mapping[ViewKey, int]) -> dict[ViewKey, StoredView]:
    """Returns the views of a batch as rows, in the cells that `places` gives."""
    rebuilt = {}
    for key in batch.sums.cells:
        for view_id, fold in batch.sums.views(key).items():
            view_key = (view_id, key.group_id)
            rebuilt[view_key] = StoredView(
                view_id=view_id,
                group_id=key.group_id,
                cell_id=places[view_key],
                traces=fold.traces,
                is_truncated=fold.is_truncated,
                parts=fold.parts,
                marker_us=fold.marker_us,
                facts=batch.view_facts[view_key],
                contribution=decode_contribution(batch.sums.grow(key, view_id, cell_id=places[view_key])),
            )
    return rebuilt


def load_folded(project_id: int, keys: Mapping[ViewKey, int] | list[ViewKey]) -> list[ClaimedTrace]:
    """Returns the folded receipts of views, as traces to fold again.

    `= ANY` on the key's second column keeps a planner from reading all receipts of a project, as in `TAKE` of claims.
    """
    if not keys:
        return []
    view_ids: list[UUID] = [view_id for view_id, _ in keys]
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT r.view_id, r.seq, r.group_id, r.received_at, r.end_reason, r.body_bytes, r.attempts
               FROM ingest_tracereceipt r JOIN unnest(%b::uuid[], %b::int[]) AS c (view_id, group_id)
                 ON (r.view_id, r.group_id) = (c.view_id, c.group_id)
               WHERE r.project_id = %s AND r.view_id = ANY(%b::uuid[]) AND r.state = %s
               ORDER BY r.view_id, r.seq""",
            [view_ids, [group_id for _, group_id in keys], project_id, view_ids, FOLDED],
        )
        return [read_claimed(row) for row in cursor]
