"""The expected sums: a plain list of entries, one per trace, added up again on each call.

It shares the core with the program: the sums of one trace are tested against an independent reference elsewhere. It
shares no code that claims, writes, merges, refolds, expires or erases.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from ingest.limits import envelope_limits
from profcore.sums.blobs import decode_call_tree, decode_contribution
from profcore.sums.fold import TraceFold, fold_trace
from profcore.times import start_of_day
from profcore.trace.dimensions import (
    CACHES,
    NAVIGATIONS,
    classify_browser,
    classify_device,
    classify_end_reason,
    is_truncating,
)
from profcore.trace.funcs import FuncKey, FuncTable
from profcore.trace.weights import MARKERS, TIME_PART_NAMES
from profcore.trace.wire import decode_envelope
from tests.aggregate.generated_traffic import Json
from tests.aggregate.posting import rows

# Sums by what they belong to: a cell, a func or a path in a cell, a view. Days stand for their hours.
Sums = dict[tuple[Any, ...], Any]
SUM_NAMES = (
    "self_us",
    "total_us",
    "hidden_us",
    "self_samples",
    "total_samples",
    "hidden_total_us",
    "uncertain_us",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Entry:
    """One folded trace: its view, its day cell, and its sums."""

    view: str
    group: tuple[str, str]
    place: tuple[Any, ...]
    is_truncated: bool
    fold: TraceFold
    funcs: FuncTable

    def by_func(self) -> dict[FuncKey, list[int]]:
        """Returns the sums by func key, in the order of `SUM_NAMES`."""
        sums = self.fold.sums
        return {
            self.funcs.keys[index]: [getattr(sums, name).get(index, 0) for name in SUM_NAMES] for index in sums.funcs()
        }

    def by_path(self) -> dict[tuple[FuncKey, ...], list[int]]:
        """Returns self µs, self samples and hidden µs by path of func keys, without what has none."""
        paths: list[tuple[FuncKey, ...]] = []
        totals: dict[tuple[FuncKey, ...], list[int]] = {}
        for stack, prefix in enumerate(self.fold.prefix):
            above = paths[prefix] if prefix >= 0 else ()
            paths.append((*above, self.funcs.keys[self.fold.func[stack]]))
            values = [
                column[stack] for column in (self.fold.stack_us, self.fold.stack_samples, self.fold.stack_hidden_us)
            ]
            _add(totals, paths[-1], values)
        return {path: sums for path, sums in totals.items() if any(sums)}


def enter(envelope: Json) -> Entry:
    """Returns the expected entry of an envelope."""
    funcs = FuncTable()
    decoded = decode_envelope(json.dumps(envelope).encode(), envelope_limits())
    device = envelope["device"]
    started_at = datetime.fromtimestamp(envelope["viewStart"] / 1000, tz=UTC)
    place = (
        envelope["release"],
        envelope["page"],
        start_of_day(started_at),
        classify_device(device.get("memory"), device.get("cores"), device.get("mobile")),
        classify_browser("Chrome" if "Chrome" in envelope["userAgent"] else None),
        NAVIGATIONS.index(envelope.get("navigation", "unknown")),
        CACHES.index(envelope.get("cache", "unknown")),
    )
    return Entry(
        view=str(UUID(envelope["viewId"])),
        group=(envelope["release"], envelope["page"]),
        place=place,
        is_truncated=is_truncating(classify_end_reason(envelope["reason"])),
        fold=fold_trace(decoded, page=envelope["page"], funcs=funcs),
        funcs=funcs,
    )


def _add(into: dict[Any, list[int]], key: Any, more: list[int]) -> None:
    known = into.get(key)
    into[key] = list(more) if known is None else [a + b for a, b in zip(known, more, strict=True)]


def _parts(entries: list[Entry]) -> list[int]:
    return [sum(getattr(entry.fold.parts, name) for entry in entries) for name in TIME_PART_NAMES]


def _markers(entries: list[Entry]) -> list[int] | None:
    markers = [entry.fold.marker_us for entry in entries if entry.fold.marker_us is not None]
    return [sum(column) for column in zip(*markers, strict=True)] if markers else None


def cells_of(entries: list[Entry]) -> Sums:
    """Returns views, truncated views, traces, parts and markers by day cell."""
    by_place: dict[tuple[Any, ...], list[Entry]] = defaultdict(list)
    for entry in entries:
        by_place[entry.place].append(entry)
    return {
        place: (
            len({e.view for e in inside}),
            len({e.view for e in inside if e.is_truncated}),
            len(inside),
            *_parts(inside),
            # Zeros and nothing are one here: a marker may have weighed nothing.
            _markers(inside) or [0] * len(MARKERS),
        )
        for place, inside in by_place.items()
    }


def hotspots_of(entries: list[Entry]) -> Sums:
    """Returns the sums of each func in each day cell, and in how many views it ran."""
    sums: dict[tuple[Any, ...], list[int]] = {}
    ran: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for entry in entries:
        for func, values in entry.by_func().items():
            _add(sums, (entry.place, func), values)
            if values[SUM_NAMES.index("total_samples")]:
                ran[entry.place, func].add(entry.view)
    return {key: (*values, len(ran[key])) for key, values in sums.items()}


def trees_of(entries: list[Entry]) -> Sums:
    """Returns the sums of each path in each day cell."""
    sums: dict[tuple[Any, ...], list[int]] = {}
    for entry in entries:
        for path, values in entry.by_path().items():
            _add(sums, (entry.place, path), values)
    return sums


def views_of(entries: list[Entry]) -> Sums:
    """Returns traces, truncation, parts, markers and contribution of each view in each group."""
    by_view: dict[tuple[Any, ...], list[Entry]] = defaultdict(list)
    for entry in entries:
        by_view[entry.view, entry.group].append(entry)
    views: Sums = {}
    for key, inside in by_view.items():
        funcs: dict[FuncKey, list[int]] = {}
        for entry in inside:
            for func, values in entry.by_func().items():
                _add(funcs, func, values)
        is_truncated = any(entry.is_truncated for entry in inside)
        views[key] = (len(inside), is_truncated, *_parts(inside), _markers(inside), funcs)
    return views


# --- What is stored, in the same shape --------------------------------------------------------------------------------
PLACE = "g.release, g.page, date_trunc('day', c.starts_at, 'UTC'), c.device_class, c.browser, c.navigation, c.cache"
CELLS = "aggregate_cell c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id"
FUNC = "f.name, f.uri, f.line, f.col"


def _func_key(name: str, uri: str | None, line: int | None, column: int | None) -> FuncKey:
    return FuncKey(name=name, uri=uri, line=line, column=column)


def read_cells(project_id: int) -> Sums:
    """Returns the stored cells, as `cells_of`."""
    sums = ", ".join(f"c.{name}" for name in ("views", "truncated_views", "traces", *TIME_PART_NAMES))
    totals: dict[tuple[Any, ...], list[int]] = {}
    for row in rows(f"SELECT {PLACE}, {sums}, c.marker_us FROM {CELLS} WHERE c.project_id = %s", project_id):
        _add(totals, tuple(row[:7]), [*row[7:-1], *(row[-1] or [0] * len(MARKERS))])
    split = -len(MARKERS)
    return {place: (*sums[:split], sums[split:]) for place, sums in totals.items() if any(sums)}


def read_hotspots(project_id: int) -> Sums:
    """Returns the stored hotspots, as `hotspots_of`; there are no rows of zeros."""
    names = ", ".join(f"sum(h.{name})::bigint" for name in (*SUM_NAMES, "views"))
    hotspots = rows(
        f"""SELECT {PLACE}, {FUNC}, {names} FROM {CELLS}
            JOIN aggregate_hotspot h ON h.project_id = c.project_id AND h.cell_id = c.id
            JOIN aggregate_func f ON f.project_id = h.project_id AND f.id = h.func_id
            WHERE c.project_id = %s GROUP BY {PLACE}, {FUNC}""",
        project_id,
    )
    return {(tuple(row[:7]), _func_key(*row[7:11])): tuple(row[11:]) for row in hotspots}


def read_trees(project_id: int) -> Sums:
    """Returns the stored call trees, as `trees_of`, without nodes of zeros; a leaf of zeros fails."""
    funcs = _read_funcs(project_id)
    trees: dict[tuple[Any, ...], list[int]] = {}
    for *place, blob in rows(
        f"""SELECT {PLACE}, p.blob FROM {CELLS}
            JOIN aggregate_calltreepiece p ON p.project_id = c.project_id AND p.cell_id = c.id
            WHERE c.project_id = %s""",
        project_id,
    ):
        tree = decode_call_tree(bytes(blob))
        paths: list[tuple[FuncKey, ...]] = []
        leaves = set(range(len(tree))) - set(tree.prefix)
        for node, prefix in enumerate(tree.prefix):
            paths.append(((*paths[prefix],) if prefix >= 0 else ()) + (funcs[tree.func[node]],))
            values = [tree.self_us[node], tree.self_samples[node], tree.hidden_us[node]]
            assert any(values) or node not in leaves, "an empty branch"
            if any(values):
                _add(trees, (tuple(place), paths[-1]), values)
    return trees


def read_views(project_id: int) -> Sums:
    """Returns the stored views, as `views_of`; each must lie in a cell of its group."""
    funcs = _read_funcs(project_id)
    parts = ", ".join(f"v.{name}" for name in TIME_PART_NAMES)
    views: Sums = {}
    for view, release, page, traces, is_truncated, *sums, markers, blob in rows(
        f"""SELECT v.view_id::text, g.release, g.page, v.traces, v.is_truncated, {parts}, v.marker_us, v.contribution
            FROM {CELLS} JOIN aggregate_pageview v ON v.project_id = c.project_id AND v.cell_id = c.id
             AND v.group_id = c.group_id AND c.merged_into IS NULL WHERE c.project_id = %s""",
        project_id,
    ):
        contribution = decode_contribution(bytes(blob))
        columns = [getattr(contribution, name) for name in SUM_NAMES]
        by_func = {
            funcs[func]: [column[position] for column in columns] for position, func in enumerate(contribution.func)
        }
        views[view, (release, page)] = (traces, is_truncated, *sums, markers, by_func)
    return views


def _read_funcs(project_id: int) -> dict[int, FuncKey]:
    funcs = rows(f"SELECT f.id, {FUNC} FROM aggregate_func f WHERE f.project_id = %s", project_id)
    return {row[0]: _func_key(*row[1:]) for row in funcs}


def assert_stored(
    project_id: int, entries: list[Entry], *, rows_of: list[Entry] | None = None, more_trees: Sequence[Entry] = ()
) -> None:
    """Compares everything stored with the sums of the entries.

    `rows_of` are those whose views have their rows, by default all; `more_trees` are in the call trees alone.
    """
    assert read_cells(project_id) == cells_of(entries)
    assert read_hotspots(project_id) == hotspots_of(entries)
    assert read_trees(project_id) == trees_of([*entries, *more_trees])
    assert read_views(project_id) == views_of(entries if rows_of is None else rows_of)
