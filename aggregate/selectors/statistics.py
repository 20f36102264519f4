"""Statistics of a slice from its views' contributions: summaries of one slice, the comparison of two."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.conf import settings
from django.db import connection

from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from profcore.funcs import FuncKey
from profcore.identity import identity_of
from profcore.stats.comparison import Comparison, compare
from profcore.stats.summaries import Summary, summarise
from profcore.stats.views import Measure, ViewFacts, ViewSample, choose_views, group_funcs, sample_of_blobs

# The rate is that of the view's first receipt; where receipts have expired, every view was recorded as far as is known.
SAMPLE_RATE = """coalesce((SELECT r.sample_rate FROM ingest_receipt r WHERE r.project_id = v.project_id
    AND r.view_id = v.view_id AND r.group_id = v.group_id ORDER BY r.received_at, r.seq LIMIT 1), 1.0)"""


def select_view_sample(slice_: Slice, *, most: int | None = None) -> ViewSample:
    """Returns the views of a slice as a sample: all of them up to `most`, else the uniform sample by their ids' hashes.

    `population` says of how many. Two or three statements.
    """
    most = settings.STATISTICS_MAX_VIEWS if most is None else most
    where, params = where_slice(slice_)
    views = f"{FROM_CELLS} JOIN aggregate_view v ON v.project_id = c.project_id AND v.cell_id = c.id WHERE {where}"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT coalesce(sum(c.views), 0)::bigint {FROM_CELLS} WHERE {where}", params)
        row = cursor.fetchone()
        population = int(row[0]) if row else 0
        if population > most:
            cursor.execute(f"SELECT v.view_id {views}", params)
            chosen = choose_views((view_id for (view_id,) in cursor), most)
            views += " AND v.view_id = ANY(%(chosen)s::uuid[])"
            params = {**params, "chosen": chosen}
        cursor.execute(
            f"SELECT v.contribution, v.js_us, v.hidden_us, c.device_class, {SAMPLE_RATE} {views} ORDER BY v.view_id",
            params,
        )
        rows = cursor.fetchall()
    facts = ViewFacts.of([r[1] for r in rows], [r[2] for r in rows], [r[3] for r in rows], [r[4] for r in rows])
    return sample_of_blobs([bytes(r[0]) for r in rows], facts, population=max(population, len(rows)))


def select_summary(slice_: Slice, *, measure: Measure = "self") -> Summary:
    """Returns every func of a slice with its ms a view, share and percentiles, each with its uncertainty."""
    return summarise(select_view_sample(slice_), measure)


@dataclass(frozen=True, slots=True)
class ComparedFunc:
    """What to show of an identity: the func of the head release, or of the base where it went."""

    id: int
    key: FuncKey


@dataclass(frozen=True, slots=True)
class SliceComparison:
    """The comparison of two slices; `funcs[d.func_id]` is the func of a difference `d`."""

    comparison: Comparison
    funcs: Sequence[ComparedFunc]


def compare_slices(base: Slice, head: Slice, *, measure: Measure = "self+hidden") -> SliceComparison:
    """Compares two slices of one project by identity across releases (`profcore.identity`)."""
    samples = [select_view_sample(slice_) for slice_ in (base, head)]
    wanted = np.unique(np.concatenate([sample.func_ids for sample in samples])).tolist()
    keys = _load_keys(base.project_id, wanted)
    index: dict[FuncKey, int] = {}
    shown: list[ComparedFunc] = []
    grouped = []
    for sample in reversed(samples):  # the head's funcs are the ones to show
        group_of = []
        for func_id in sample.func_ids.tolist():
            identity = identity_of(keys[func_id])
            if identity not in index:
                index[identity] = len(shown)
                shown.append(ComparedFunc(func_id, keys[func_id]))
            group_of.append(index[identity])
        grouped.append(group_funcs(sample, group_of))
    return SliceComparison(compare(grouped[1], grouped[0], measure=measure), shown)


def _load_keys(project_id: int, func_ids: Sequence[int]) -> dict[int, FuncKey]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, uri, line, col, name FROM aggregate_func WHERE project_id = %s AND id = ANY(%s::int[])",
            [project_id, list(func_ids)],
        )
        return {row[0]: FuncKey(*row[1:]) for row in cursor}
