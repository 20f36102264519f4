"""The stored state after folds, merges, refolds and erasures, by day and without dense ids."""

from typing import Any

from aggregate.fold.writes import HOTSPOT_SUMS
from profcore.sums.blobs import decode_call_tree
from profcore.sums.calltree import merge_call_trees
from profcore.trace.dimensions import BOT
from profcore.trace.weights import TIME_PART_NAMES
from tests.aggregate.expected_sums import (
    read_trees,
)
from tests.aggregate.posting import contributions, rows

CELL_KEY = """c.project_id, g.release, g.page, date_trunc('day', c.starts_at, 'UTC'), c.device_class, c.browser,
    c.navigation, c.cache"""
FROM = """aggregate_cell c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id"""
SUMS = ("views", "truncated_views", "traces", *TIME_PART_NAMES)
State = tuple[list[tuple[Any, ...]], ...]


def by_day() -> State:
    """Returns cells, hotspots, call trees and contributions, hours summed into their days."""
    sums = ", ".join(f"sum(c.{name})" for name in SUMS)
    cells = rows(
        f"""SELECT {CELL_KEY}, {sums}, (SELECT array_agg(s ORDER BY n) FROM (
                SELECT n, sum(m) AS s FROM aggregate_cell e, unnest(e.marker_us) WITH ORDINALITY AS u (m, n)
                WHERE e.id = ANY(array_agg(c.id)) AND e.project_id = c.project_id GROUP BY n) AS t)
            FROM {FROM} GROUP BY {CELL_KEY} HAVING sum(c.traces) > 0 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8"""
    )
    hotspots = rows(
        f"""SELECT {CELL_KEY}, f.name, f.col, sum(h.self_samples), sum(h.total_samples), sum(h.self_us),
                   sum(h.total_us), sum(h.hidden_us), sum(h.hidden_total_us), sum(h.uncertain_us),
                   sum(h.views)
            FROM {FROM} JOIN aggregate_hotspot h ON h.project_id = c.project_id AND h.cell_id = c.id
            JOIN aggregate_func f ON f.project_id = h.project_id AND f.id = h.func_id
            GROUP BY {CELL_KEY}, f.name, f.col ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10"""
    )
    return cells, hotspots, trees_by_day(), contributions()


def trees_by_day() -> list[tuple[Any, ...]]:
    """Returns every call node's path of names with its sums, by day cell."""
    names = {
        (p, i): f"{name}@{col}" for p, i, name, col in rows("SELECT project_id, id, name, col FROM aggregate_func")
    }
    pieces: dict[tuple[Any, ...], list[Any]] = {}
    for *cell, blob in rows(
        f"""SELECT {CELL_KEY}, p.blob FROM {FROM}
            JOIN aggregate_calltreepiece p ON p.project_id = c.project_id AND p.cell_id = c.id"""
    ):
        pieces.setdefault(tuple(cell), []).append(decode_call_tree(bytes(blob)))
    nodes = []
    for cell_key, trees in pieces.items():
        tree = merge_call_trees(trees)
        paths: list[str] = []
        for node, prefix in enumerate(tree.prefix):
            paths.append((paths[prefix] + " > " if prefix >= 0 else "") + names[cell_key[0], tree.func[node]])
            nodes.append((*cell_key, paths[node], tree.self_us[node], tree.self_samples[node], tree.hidden_us[node]))
    return sorted(nodes)


def summed(state: State, rank: int) -> list[list[tuple[Any, ...]]]:
    """Returns cells, hotspots and trees of the `rank`-th project, without its id."""
    projects = sorted({row[0] for row in rows("SELECT id FROM projects_project")})
    return [[row[1:] for row in table if row[0] == projects[rank - 1]] for table in state[:3]]


def assert_rollup_is_exact() -> None:
    """Compares the roll-up with the sums of all cells except those of bots, by group and day."""
    sums = ", ".join(f"sum({name})" for name in SUMS)
    expected = rows(
        f"""SELECT project_id, group_id, date_trunc('day', starts_at, 'UTC'), {sums} FROM aggregate_cell
            WHERE browser <> {BOT} AND environment = 0 GROUP BY 1, 2, 3 HAVING sum(traces) <> 0 ORDER BY 1, 2, 3"""
    )
    kept = rows(
        f"""SELECT project_id, group_id, day_at, {", ".join(SUMS)} FROM aggregate_pageday
            WHERE traces <> 0 OR views <> 0 OR span_us <> 0 ORDER BY 1, 2, 3"""
    )
    assert kept == expected
    assert_counts_are_exact()
    assert_day_hotspots_are_exact()
    assert_merged_hours_are_empty()


def assert_day_hotspots_are_exact() -> None:
    """Compares the roll-up of hotspots with those of the cells that are in it."""
    sums = ", ".join(f"sum(h.{name})" for name in HOTSPOT_SUMS)
    expected = rows(
        f"""SELECT c.project_id, c.group_id, date_trunc('day', c.starts_at, 'UTC'), h.func_id, {sums}
            FROM aggregate_cell c JOIN aggregate_hotspot h ON h.project_id = c.project_id AND h.cell_id = c.id
            WHERE c.is_rolled AND c.browser <> {BOT} AND c.environment = 0 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"""
    )
    kept = f"SELECT project_id, group_id, day_at, func_id, {', '.join(HOTSPOT_SUMS)} FROM aggregate_dayhotspot"
    assert rows(f"{kept} ORDER BY 1, 2, 3, 4") == expected
    of_cells = rows(
        f"""SELECT c.project_id, c.group_id, date_trunc('day', c.starts_at, 'UTC'), t.blob FROM aggregate_cell c
           JOIN aggregate_calltreepiece t ON t.project_id = c.project_id AND t.cell_id = c.id
            WHERE c.is_rolled AND c.browser <> {BOT} AND c.environment = 0"""
    )
    of_days = rows("SELECT project_id, group_id, day_at, blob FROM aggregate_daytreepiece")
    assert paths_of(of_days) == paths_of(of_cells)


def paths_of(trees: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], tuple[int, ...]]:
    """Returns the sums of every path of func ids, by the key of its tree; `trees` are keys, each with a blob."""
    sums: dict[tuple[Any, ...], tuple[int, ...]] = {}
    for *key, blob in trees:
        tree = decode_call_tree(bytes(blob))
        paths: list[tuple[int, ...]] = []
        for node, prefix in enumerate(tree.prefix):
            paths.append((*(paths[prefix] if prefix >= 0 else ()), tree.func[node]))
            values = (tree.self_us[node], tree.self_samples[node], tree.hidden_us[node])
            path = (*key, paths[node])
            sums[path] = tuple(map(sum, zip(sums.get(path, (0, 0, 0)), values, strict=True)))
    return sums


def assert_counts_are_exact() -> None:
    """Compares the counts of receipts with the receipts."""
    counted = rows(
        """SELECT project_id, date_trunc('hour', received_at, 'UTC'), count(*) FILTER (WHERE state = 1),
                  count(*) FILTER (WHERE state = 2)
           FROM ingest_tracereceipt WHERE state <> 0 GROUP BY 1, 2 ORDER BY 1, 2"""
    )
    kept = "SELECT project_id, hour_at, folded, rejected FROM ingest_receiptcount WHERE (folded, rejected) <> (0, 0)"
    assert rows(f"{kept} ORDER BY 1, 2") == counted


def assert_merged_hours_are_empty() -> None:
    """Checks that no row refers to an hour that was merged into a day."""
    merged = "SELECT FROM aggregate_cell c WHERE c.merged_into IS NOT NULL"
    assert rows(f"{merged} AND (c.traces <> 0 OR c.views <> 0 OR c.span_us <> 0 OR c.marker_us IS NOT NULL)") == []
    for table in ("hotspotpiece", "calltreepiece", "pageview"):
        hanging = f"EXISTS (SELECT FROM aggregate_{table} h WHERE h.project_id = c.project_id AND h.cell_id = c.id)"
        assert rows(f"{merged} AND {hanging}") == [], table


def dump_rows() -> dict[str, list[tuple[Any, ...]]]:
    """Returns all rows that a fold writes, with dense ids and blobs; call trees are merged and by path."""
    tables = {"cell": "id", "pageview": "view_id, group_id", "pageday": "group_id, day_at"}
    dump = {
        table: rows(f"SELECT * FROM aggregate_{table} ORDER BY project_id, {order}") for table, order in tables.items()
    }
    sums = ", ".join(f"sum({name})" for name in HOTSPOT_SUMS)
    dump["hotspot"] = rows(
        f"SELECT project_id, cell_id, func_id, {sums} FROM aggregate_hotspot GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    dump["pageview"] = [
        tuple(bytes(value) if isinstance(value, memoryview) else value for value in row) for row in dump["pageview"]
    ]
    for project_id in {row[0] for row in rows("SELECT id FROM projects_project")}:
        dump[f"trees of {project_id}"] = sorted(read_trees(project_id).items(), key=str)
    return dump
