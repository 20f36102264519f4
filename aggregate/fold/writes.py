"""The writes of a fold, inside its one transaction: tables in a fixed order, rows sorted by key, sums added."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Final, NamedTuple
from uuid import UUID

from django.db import connection

from aggregate.sql import array_text, leave_out
from profcore.sums.batch_sums import HOTSPOT_COLUMNS, HotspotColumns, ViewTotals
from profcore.sums.blobs import Contribution, decode_contribution_list
from profcore.sums.fold import FOLD_VERSION, add_markers
from profcore.trace.weights import TIME_PART_NAMES, TimeParts

PARTS: Final = ", ".join(TIME_PART_NAMES)
PART_ARRAYS: Final = ", ".join(["%s::bigint[]"] * len(TIME_PART_NAMES))
# A hotspot's sums, in the order of a delta's values. All code that merges or subtracts hotspots takes them from here.
HOTSPOT_SUMS: Final = (
    *("self_samples", "total_samples", "self_us", "total_us", "hidden_us", "hidden_total_us", "uncertain_us"),
    "views",
)
FACTS: Final = "sample_rate, traits, session"  # as `ViewFacts`
ADD_HOTSPOTS: Final = ", ".join(f"{name} = h.{name} + excluded.{name}" for name in HOTSPOT_SUMS)
ADD_PARTS: Final = ", ".join(f"{name} = c.{name} + d.{name}" for name in TIME_PART_NAMES)


@dataclass(slots=True, kw_only=True)
class CellDelta:
    """The additions to one cell: new views, traces, the parts of time, and the hotspots' additions by func id."""

    views: int = 0
    truncated_views: int = 0
    traces: int = 0
    parts: TimeParts = field(default_factory=TimeParts)
    marker_us: list[int] | None = None
    # func id -> its HOTSPOT_SUMS
    hotspots: dict[int, list[int]] = field(default_factory=dict)


class ViewFacts(NamedTuple):
    """What a view has from its first receipt, besides its cell.

    `sample_rate` is the share of views that its page records, None for all. Traits: `profcore.trace.dimensions`.
    """

    sample_rate: float | None
    traits: int
    session: int | None


@dataclass(slots=True, kw_only=True)
class _ViewRow:
    view_id: UUID
    group_id: int
    cell_id: int
    traces: int
    is_truncated: bool
    parts: TimeParts
    marker_us: list[int] | None
    facts: ViewFacts


@dataclass(slots=True, kw_only=True)
class StoredView(_ViewRow):
    """A view's row as it is stored."""

    contribution: Contribution


@dataclass(slots=True, kw_only=True)
class GrownView(_ViewRow):
    """A view's row as it will be written: its contribution is encoded."""

    contribution: bytes


def load_views(project_id: int, keys: Sequence[tuple[UUID, int]]) -> dict[tuple[UUID, int], StoredView]:
    """Returns the stored rows of views, by (view, group). Call under the groups' locks."""
    view_ids = [view_id for view_id, _ in keys]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT v.contribution, v.view_id, v.group_id, v.cell_id, v.traces, v.is_truncated, v.marker_us,
                       {FACTS}, {PARTS}
                FROM aggregate_pageview v JOIN unnest(%b::uuid[], %b::int[]) AS c (view_id, group_id)
                  USING (view_id, group_id) WHERE v.project_id = %s AND v.view_id = ANY(%b::uuid[])""",
            [view_ids, [group_id for _, group_id in keys], project_id, view_ids],
        )
        rows = cursor.fetchall()
    contributions = decode_contribution_list([row[0] for row in rows])
    views: dict[tuple[UUID, int], StoredView] = {}
    for row, contribution in zip(rows, contributions, strict=True):
        _, view_id, group_id, cell_id, traces, is_truncated, marker_us, rate, traits, session, *parts = row
        views[view_id, group_id] = StoredView(
            view_id=view_id,
            group_id=group_id,
            cell_id=cell_id,
            traces=traces,
            is_truncated=is_truncated,
            parts=TimeParts(*parts),
            marker_us=marker_us,
            contribution=contribution,
            facts=ViewFacts(rate, traits, session),
        )
    return views


def grow_view(
    stored: StoredView | None,
    fold: ViewTotals,
    *,
    key: tuple[UUID, int],
    cell_id: int,
    facts: ViewFacts,
    contribution: bytes,
) -> tuple[GrownView, CellDelta]:
    """Returns the new row of the view with this key, and the additions to its cell: the new row minus the old one.

    `contribution` is the row's own, new one. The additions are without those to hotspots.
    """
    view_id, group_id = key
    delta = CellDelta(
        views=0 if stored else 1,
        truncated_views=int(fold.is_truncated and not (stored and stored.is_truncated)),
        traces=fold.traces,
        parts=fold.parts,
        marker_us=fold.marker_us,
    )
    if stored is None:
        row = GrownView(
            view_id=view_id,
            group_id=group_id,
            cell_id=cell_id,
            traces=fold.traces,
            is_truncated=fold.is_truncated,
            parts=fold.parts,
            marker_us=fold.marker_us,
            contribution=contribution,
            facts=facts,
        )
        return row, delta
    parts = TimeParts()
    parts.add(stored.parts)
    parts.add(fold.parts)
    row = GrownView(
        view_id=view_id,
        group_id=group_id,
        cell_id=cell_id,
        traces=stored.traces + fold.traces,
        is_truncated=stored.is_truncated or fold.is_truncated,
        parts=parts,
        marker_us=add_markers(stored.marker_us, fold.marker_us),
        contribution=contribution,
        facts=stored.facts,
    )
    return row, delta


def hotspots_by_func(hotspots: HotspotColumns) -> dict[int, list[int]]:
    """Returns what a batch adds to a cell's hotspots as `HOTSPOT_SUMS` by func."""
    columns = dict(zip(HOTSPOT_COLUMNS, hotspots.columns, strict=True))
    rows = zip(*(columns[name] for name in HOTSPOT_SUMS), strict=True)
    return dict(zip(hotspots.func, map(list, rows), strict=True))


def hotspots_of(contribution: Contribution) -> dict[int, list[int]]:
    """Returns a contribution as `HOTSPOT_SUMS` by func."""
    columns = [getattr(contribution, name) for name in HOTSPOT_SUMS[:-1]]
    views = [int(count > 0) for count in contribution.total_samples]
    return dict(zip(contribution.func, map(list, zip(*columns, views, strict=True)), strict=True))


def add_delta(into: CellDelta, more: CellDelta) -> None:
    """Adds one view's delta to that of its cell."""
    into.views += more.views
    into.truncated_views += more.truncated_views
    into.traces += more.traces
    into.parts.add(more.parts)
    into.marker_us = add_markers(into.marker_us, more.marker_us)
    for func_id, values in more.hotspots.items():
        known = into.hotspots.get(func_id)
        into.hotspots[func_id] = values if known is None else list(map(add, known, values))


def _part_columns(parts: Sequence[TimeParts]) -> list[str]:
    """Returns an array of each of `TIME_PART_NAMES`, as text."""
    return [array_text([getattr(part, name) for part in parts]) for name in TIME_PART_NAMES]


def _marker_texts(markers: Iterable[list[int] | None]) -> list[str | None]:
    # An array of arrays would have to be rectangular, so each array is sent as text: numbers with commas between them.
    # They are split by a function that has no settings, because a cluster's coordinator refuses others in a CASE.
    return [None if marker is None else ",".join(map(str, marker)) for marker in markers]


ADD_TO_CELLS: Final = f"""
WITH d AS (
    SELECT * FROM unnest(%s::int[], %s::bigint[], %s::bigint[], %s::bigint[], %b::text[], {PART_ARRAYS})
        AS d (id, views, truncated_views, traces, marker_us, {PARTS})
), changed AS (
    UPDATE aggregate_cell c
    SET views = c.views + d.views, truncated_views = c.truncated_views + d.truncated_views,
        traces = c.traces + d.traces, fold_version = %s, {ADD_PARTS},
        marker_us = CASE WHEN d.marker_us IS NULL THEN c.marker_us WHEN c.marker_us IS NULL
            THEN string_to_array(d.marker_us, ',')::bigint[] ELSE (SELECT array_agg(a + b ORDER BY n) FROM
            unnest(c.marker_us, string_to_array(d.marker_us, ',')::bigint[]) WITH ORDINALITY AS m (a, b, n)) END
    FROM d WHERE c.project_id = %s AND c.id = d.id
    RETURNING c.group_id, {leave_out("c")} AS is_summed, date_trunc('day', c.starts_at, 'UTC') AS day_at,
              d.views, d.truncated_views, d.traces, {", ".join(f"d.{name}" for name in TIME_PART_NAMES)}
), rolled AS (
    INSERT INTO aggregate_pageday AS c (project_id, group_id, day_at, views, truncated_views, traces, {PARTS})
    SELECT %s, group_id, day_at, sum(views), sum(truncated_views), sum(traces),
           {", ".join(f"sum({name})" for name in TIME_PART_NAMES)}
    FROM changed WHERE is_summed GROUP BY group_id, day_at ORDER BY group_id, day_at
    ON CONFLICT (project_id, group_id, day_at) DO UPDATE
    SET views = c.views + excluded.views, truncated_views = c.truncated_views + excluded.truncated_views,
        traces = c.traces + excluded.traces,
        {", ".join(f"{name} = c.{name} + excluded.{name}" for name in TIME_PART_NAMES)})
SELECT count(*) FROM changed
"""


def add_to_cells(project_id: int, deltas: Sequence[tuple[int, CellDelta]]) -> None:
    """Adds to cells' sums, and except for what `leave_out` names to the roll-up of their days.

    `deltas` are sorted by cell id. Every change of a cell's sums goes through this function, so the roll-up is exact
    whenever a transaction ends.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            ADD_TO_CELLS,
            [
                array_text(cell_id for cell_id, _ in deltas),
                array_text(delta.views for _, delta in deltas),
                array_text(delta.truncated_views for _, delta in deltas),
                array_text(delta.traces for _, delta in deltas),
                _marker_texts(delta.marker_us for _, delta in deltas),
                *_part_columns([delta.parts for _, delta in deltas]),
                FOLD_VERSION,
                project_id,
                project_id,
            ],
        )
        row = cursor.fetchone()
    if row is None or row[0] != len(deltas):
        raise RuntimeError(f"Of {len(deltas)} cells to add to, {row} were found.")


def negate(delta: CellDelta) -> CellDelta:
    """Returns the delta that takes another one back."""
    parts = TimeParts(**{name: -getattr(delta.parts, name) for name in TIME_PART_NAMES})
    markers = None if delta.marker_us is None else [-us for us in delta.marker_us]
    hotspots = {func_id: [-value for value in values] for func_id, values in delta.hotspots.items()}
    return CellDelta(
        views=-delta.views,
        truncated_views=-delta.truncated_views,
        traces=-delta.traces,
        parts=parts,
        marker_us=markers,
        hotspots=hotspots,
    )


def load_cells(project_id: int, cell_ids: Sequence[int]) -> dict[int, CellDelta]:
    """Returns the sums of cells as deltas, without their hotspots. Call under the groups' locks."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT id, views, truncated_views, traces, marker_us, {PARTS} FROM aggregate_cell
                WHERE project_id = %s AND id = ANY(%b::int[])""",
            [project_id, list(cell_ids)],
        )
        return {
            cell_id: CellDelta(
                views=views,
                truncated_views=truncated_views,
                traces=traces,
                parts=TimeParts(*parts),
                marker_us=marker_us,
            )
            for cell_id, views, truncated_views, traces, marker_us, *parts in cursor
        }


def write_views(project_id: int, views: Sequence[GrownView]) -> None:
    """Writes the rows of new or grown views. `views` are sorted by view and group."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""INSERT INTO aggregate_pageview (project_id, fold_version, view_id, group_id, cell_id, traces,
                                                is_truncated, contribution, {FACTS}, marker_us, {PARTS})
                SELECT %s, %s, view_id, group_id, cell_id, traces, is_truncated, contribution, {FACTS},
                       string_to_array(marker_us, ',')::bigint[], {PARTS}
                FROM unnest(%b::uuid[], %s::int[], %s::int[], %s::int[], %b::boolean[], %b::bytea[], %b::float8[],
                            %s::smallint[], %s::bigint[], %b::text[], {PART_ARRAYS})
                     AS d (view_id, group_id, cell_id, traces, is_truncated, contribution, {FACTS}, marker_us, {PARTS})
                ON CONFLICT (project_id, view_id, group_id) DO UPDATE SET
                    traces = excluded.traces, is_truncated = excluded.is_truncated,
                    contribution = excluded.contribution, fold_version = excluded.fold_version,
                    marker_us = excluded.marker_us, {", ".join(f"{n} = excluded.{n}" for n in TIME_PART_NAMES)}""",
            [
                project_id,
                FOLD_VERSION,
                [view.view_id for view in views],
                array_text(view.group_id for view in views),
                array_text(view.cell_id for view in views),
                array_text(view.traces for view in views),
                [view.is_truncated for view in views],
                [view.contribution for view in views],
                [view.facts.sample_rate for view in views],
                array_text(view.facts.traits for view in views),
                array_text(view.facts.session for view in views),
                _marker_texts(view.marker_us for view in views),
                *_part_columns([view.parts for view in views]),
            ],
        )
