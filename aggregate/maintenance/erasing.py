"""Erasing a page view: its receipts, raw traces and contribution are deleted, and its sums leave cell and call tree."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from urllib.parse import parse_qsl, quote, unquote
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from aggregate.fold.batch import FoldedBatch, ViewKey, fold_claim, load_cell_keys
from aggregate.fold.calltrees import append_call_trees, take_call_trees
from aggregate.fold.claims import Claim
from aggregate.fold.hotspots import add_to_hotspots, clear_empty_hotspots
from aggregate.fold.interning import select_other, settle_known_cells
from aggregate.fold.late_arrivals import count_without_row, load_folded, views_of
from aggregate.fold.locks import lock_groups
from aggregate.fold.receipt_counts import add_receipt_counts
from aggregate.fold.rollups import unroll_days
from aggregate.fold.writes import (
    CellDelta,
    StoredView,
    add_delta,
    add_to_cells,
    hotspots_of,
    load_views,
    negate,
)
from aggregate.maintenance.packs.marking import mark_packs
from aggregate.models import Job
from profcore.sums.blobs import encode_counted
from profcore.sums.calltree import CallTree, CallTreeBuilder
from profcore.sums.subtraction import NotContained, subtract_call_tree
from projects.models import SavedView, SharedLink

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Erasure:
    """The outcome of erasing. In `kept_sums` groups the view's sums could not be found; `kept_trees` are such trees."""

    traces: int = 0
    views: int = 0
    kept_sums: int = 0
    kept_trees: int = 0

    def add(self, more: "Erasure") -> None:
        """Adds the counts of another one."""
        self.traces += more.traces
        self.views += more.views
        self.kept_sums += more.kept_sums
        self.kept_trees += more.kept_trees


def _ignore(_: object) -> None:
    pass


def erase_view(
    project_id: int,
    view_id: UUID,
    *,
    on_group: Callable[[Erasure], object] = _ignore,
    on_traces: Callable[[int], object] = _ignore,
) -> Erasure:
    """Erases a view from all its groups, and returns the outcome. It is empty if there is no such view (any more).

    `on_group` is called with the outcome of each group, in its transaction; `on_traces` after it, with the number of
    erased traces.
    """
    erasure = Erasure()
    while group_ids := _find_groups(project_id, view_id):
        for group_id in group_ids:
            group = Erasure()
            with transaction.atomic():
                _erase_from_group(project_id, (view_id, group_id), group)
                on_group(group)
            erasure.add(group)
            on_traces(group.traces)
    delete_mentions(project_id, str(view_id))
    return erasure


def delete_mentions(project_id: int, text: str) -> None:
    """Deletes what names an erased view by its id, or a tag as `name:value`: saved views, shared links, ended jobs.

    A shared link ends, and its address is emptied. Jobs that are not done find nothing, and are deleted in some days.
    """
    spellings = (text, quote(text, safe=""))

    def names(address: str) -> bool:
        path, _, query = address.partition("?")
        return text in unquote(path).split("/") or text in (value for _, value in parse_qsl(query))

    of_project = Q(project_id=project_id)
    in_saved = reduce(or_, (Q(path__contains=spelling) | Q(query__contains=spelling) for spelling in spellings))
    for saved in SavedView.objects.filter(of_project & in_saved):
        if names(f"{saved.path}?{saved.query}"):
            saved.delete()
    in_link = reduce(or_, (Q(page__contains=spelling) for spelling in spellings))
    for link in SharedLink.objects.filter(of_project & in_link):
        if names(link.page):
            link.page, link.revoked_at = "", link.revoked_at or datetime.now(UTC)
            link.save()
    ended = Q(state__in=(Job.State.DONE, Job.State.FAILED, Job.State.CANCELLED))
    for job in Job.objects.filter(of_project & ended & Q(params__icontains=text)):
        if text in (value for _, value in job.params):
            Job.objects.filter(project_id=project_id, id=job.id).delete()


def _find_groups(project_id: int, view_id: UUID) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT group_id FROM ingest_tracereceipt WHERE project_id = %(project)s AND view_id = %(view)s
               UNION SELECT group_id FROM aggregate_pageview WHERE project_id = %(project)s AND view_id = %(view)s
               ORDER BY 1""",
            {"project": project_id, "view": view_id},
        )
        return [group_id for (group_id,) in cursor]


def _erase_from_group(project_id: int, key: ViewKey, erasure: Erasure) -> None:
    lock_groups(project_id, [key[1]])
    _lock_receipts(project_id, key)
    stored = load_views(project_id, [key]).get(key)
    folded = load_folded(project_id, [key])
    batch = fold_claim(Claim(project_id=project_id, is_alone=False, traces=folded)) if folded else None
    is_whole = batch is not None and not batch.rejected and (stored is None or stored.traces == len(folded))
    has_sums = True
    if stored is None and batch is not None:
        place = _find_place(project_id, batch)
        has_sums = place is not None and count_without_row(project_id, [place])[place] > 0
        if place is not None and has_sums and is_whole:
            stored = views_of(batch, {key: place})[key]
    if stored is not None:
        delta = delta_of(stored)
        add_to_cells(project_id, [(stored.cell_id, negate(delta))])
        add_to_hotspots(project_id, [(stored.cell_id, negate(delta))])
        if batch is None or not is_whole or not _take_tree(project_id, stored, batch):
            erasure.kept_trees += 1
        erasure.views += 1
    elif folded and has_sums:
        erasure.kept_sums += 1
    erasure.traces += _delete_rows(project_id, key)
    if stored is not None:
        _clear_empty(project_id, stored.cell_id)
        unroll_days(project_id, [stored.cell_id])


def delta_of(view: StoredView) -> CellDelta:
    """Returns the delta that a view has added to its cell."""
    delta = CellDelta(
        views=1, truncated_views=int(view.is_truncated), traces=view.traces, hotspots=hotspots_of(view.contribution)
    )
    add_delta(delta, CellDelta(parts=view.parts, marker_us=view.marker_us))
    return delta


def _find_place(project_id: int, batch: FoldedBatch) -> int | None:
    """Returns the cell of the batch's one view, None if it has expired."""
    places, _ = load_cell_keys(batch.claim)
    cell_ids = settle_known_cells(project_id, list(places.values()))
    return next(iter(cell_ids.values()), None)


def _take_tree(project_id: int, view: StoredView, batch: FoldedBatch) -> bool:
    """Takes a view's tree out of its cell's; tells whether it could.

    If some of its funcs count as "(other)", others may have done so when it was folded: its paths are unknown.
    """
    other_func, cell_id = select_other(project_id), view.cell_id
    if other_func is not None and (other_func in view.contribution.func or other_func in batch.id_of):
        return False
    mine = CallTreeBuilder()
    for key in batch.sums.cells:
        mine.add_tree(batch.sums.tree(key).tree())
    if not len(mine.tree):
        return True
    whole = take_call_trees(project_id, [(cell_id, cell_id)]).get(cell_id, CallTree())
    try:
        left, is_taken = subtract_call_tree(whole, mine.tree), True
    except NotContained:
        logger.warning("A view's call tree is not part of its cell's call tree, which is kept as it is.")
        left, is_taken = whole, False
    append_call_trees(project_id, [(cell_id, encode_counted(left))])
    return is_taken


def _lock_receipts(project_id: int, key: ViewKey) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT seq FROM ingest_tracereceipt WHERE project_id = %s AND view_id = %s AND group_id = %s
               ORDER BY seq FOR UPDATE""",
            [project_id, *key],
        )


def _delete_rows(project_id: int, key: ViewKey) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH gone AS (DELETE FROM ingest_tracereceipt WHERE project_id = %(project)s AND view_id = %(view)s
                   AND group_id = %(group)s RETURNING project_id, seq, received_at, state),
               counted AS ({add_receipt_counts("gone", sign=-1)}),
               border AS (DELETE FROM ingest_borderreceipt b USING gone WHERE b.project_id = %(project)s
                   AND b.view_id = %(view)s AND b.seq = gone.seq),
               raw AS (DELETE FROM ingest_rawtrace t USING gone WHERE t.project_id = %(project)s
                   AND t.view_id = %(view)s AND t.seq = gone.seq AND t.received_at = gone.received_at
                   RETURNING t.pack_id),
               view AS (DELETE FROM aggregate_pageview WHERE project_id = %(project)s AND view_id = %(view)s
                   AND group_id = %(group)s)
               SELECT (SELECT count(*) FROM gone), ARRAY(SELECT DISTINCT pack_id FROM raw WHERE pack_id IS NOT NULL)""",
            {"project": project_id, "view": key[0], "group": key[1]},
        )
        row = cursor.fetchone()
    assert row is not None  # one without a table
    mark_packs(project_id, row[1])
    return int(row[0])


def _clear_empty(project_id: int, cell_id: int) -> None:
    clear_empty_hotspots(project_id, cell_id)
    with connection.cursor() as cursor:
        # If no trace is left, a kept tree (`kept_trees`) has only paths of erased views.
        cursor.execute(
            """DELETE FROM aggregate_calltreepiece t USING aggregate_cell c
               WHERE t.project_id = %s AND t.cell_id = %s AND c.project_id = t.project_id AND c.id = t.cell_id
                 AND c.traces = 0""",
            [project_id, cell_id],
        )
        cursor.execute(
            """UPDATE aggregate_cell c SET marker_us = NULL
               WHERE c.project_id = %s AND c.id = %s AND 0 = ALL(c.marker_us) AND NOT EXISTS (
                   SELECT 1 FROM aggregate_pageview v
                   WHERE v.project_id = c.project_id AND v.cell_id = c.id AND v.marker_us IS NOT NULL)""",
            [project_id, cell_id],
        )
