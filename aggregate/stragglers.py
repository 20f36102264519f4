"""Views whose contribution was dropped while their cells kept the sums: it is rebuilt from the raw traces.

A straggler (a trace that comes after its view's row has expired) may add to its cell only what is new: the old
contribution must be known, or the funcs the view ran already would be counted as run by one more view.
"""

from collections.abc import Mapping
from uuid import UUID

from django.db import connection

from aggregate.batch import FoldedBatch, ViewKey, fold_claim, intern_batch_funcs
from aggregate.claims import Claim, ClaimedTrace
from aggregate.writes import StoredView, grow_view


class ViewsExpired(Exception):
    """Earlier traces of these views were folded, and neither contribution nor raw traces are left."""

    def __init__(self, keys: frozenset[ViewKey]) -> None:
        super().__init__(f"{len(keys)} views have expired")
        self.keys = keys


def rebuild_views(project_id: int, places: Mapping[ViewKey, int]) -> dict[ViewKey, StoredView]:
    """Returns the dropped rows of views that have none: those with folded traces. `places` are their cells.

    Call under the groups' locks: such views are rare, and what is decoded here was folded before without harm. Raises
    `ViewsExpired` for those that cannot be rebuilt.
    """
    earlier = load_folded(project_id, places)
    if not earlier:
        return {}
    batch = fold_claim(Claim(project_id, is_alone=False, traces=earlier))
    if batch.rejected:
        lost = frozenset((rejection.trace.view_id, rejection.trace.group_id) for rejection in batch.rejected)
        raise ViewsExpired(lost)
    return views_of(batch, places)


def views_of(batch: FoldedBatch, places: Mapping[ViewKey, int]) -> dict[ViewKey, StoredView]:
    """Returns the views of a batch as rows that lie in the cells of `places`."""
    id_of = intern_batch_funcs(batch)
    rebuilt = {}
    for key, cell in batch.cells.items():
        for view_id, fold in cell.views.items():
            own = (view_id, key.group_id)
            rate = batch.sample_rates[own]
            rebuilt[own], _ = grow_view(None, fold, key=own, cell_id=places[own], sample_rate=rate, id_of=id_of)
    return rebuilt


def load_folded(project_id: int, keys: Mapping[ViewKey, int] | list[ViewKey]) -> list[ClaimedTrace]:
    """Returns the receipts of views that were folded, as traces to fold."""
    if not keys:
        return []
    view_ids: list[UUID] = [view_id for view_id, _ in keys]
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT r.view_id, r.seq, r.group_id, r.received_at, r.end_reason, r.body_bytes, r.attempts
               FROM ingest_receipt r JOIN unnest(%s::uuid[], %s::int[]) AS c (view_id, group_id)
                 ON (r.view_id, r.group_id) = (c.view_id, c.group_id)
               WHERE r.project_id = %s AND r.state = 1 ORDER BY r.view_id, r.seq""",
            [view_ids, [group_id for _, group_id in keys], project_id],
        )
        return [ClaimedTrace(*row) for row in cursor]
