"""What a stack has kept, beside what the ledger says that it must have."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from aggregate.sql import leave_out
from benchmarks.shared.load import PROJECT
from benchmarks.soak.ledger import ExpectedGroup
from benchmarks.soak.traces import Func, Group
from benchmarks.soak.watching import open_database
from ops.supervisor.running import RunningStack
from profcore.sums.fold import FUNC_SUM_NAMES
from profcore.trace.weights import TIME_PART_NAMES

SUMS: Final = (*FUNC_SUM_NAMES, "views")
CELLS: Final = f"""
SELECT g.release, g.page, sum(c.traces), sum(c.views), {", ".join(f"sum(c.{name})" for name in TIME_PART_NAMES)}
FROM aggregate_cell c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
JOIN projects_project p ON p.id = c.project_id WHERE p.slug = %s AND c.merged_into IS NULL GROUP BY 1, 2
"""
# Summed before it is joined to names: all pieces are read once.
HOTSPOTS: Final = f"""
SELECT g.release, g.page, f.uri, f.line, f.col, f.name, {", ".join(f"s.{name}" for name in SUMS)}
FROM (SELECT c.project_id, c.group_id, h.func_id, {", ".join(f"sum(h.{name}) AS {name}" for name in SUMS)}
      FROM aggregate_hotspot h JOIN aggregate_cell c ON c.project_id = h.project_id AND c.id = h.cell_id
      WHERE h.project_id = (SELECT id FROM projects_project WHERE slug = %s) GROUP BY 1, 2, 3 OFFSET 0) AS s
JOIN ingest_group g ON g.project_id = s.project_id AND g.id = s.group_id
JOIN aggregate_func f ON f.project_id = s.project_id AND f.id = s.func_id
"""
# The roll-up of days must be the sums of the cells that are rolled up, func by func.
ROLLED: Final = f"""
SELECT count(*) FROM (
    SELECT c.group_id, date_trunc('day', c.starts_at, 'UTC') AS day_at, h.func_id,
           {", ".join(f"sum(h.{name})::bigint AS {name}" for name in SUMS)}
    FROM aggregate_hotspot h JOIN aggregate_cell c ON c.project_id = h.project_id AND c.id = h.cell_id
    JOIN projects_project p ON p.id = h.project_id
    WHERE p.slug = %(slug)s AND c.is_rolled AND c.merged_into IS NULL AND {leave_out("c")} GROUP BY 1, 2, 3
) AS own FULL JOIN (
    SELECT d.* FROM aggregate_dayhotspot d JOIN projects_project p ON p.id = d.project_id WHERE p.slug = %(slug)s
) AS day USING (group_id, day_at, func_id)
WHERE ({", ".join(f"coalesce(own.{name}, 0)" for name in SUMS)})
    IS DISTINCT FROM ({", ".join(f"coalesce(day.{name}, 0)" for name in SUMS)})
"""


def find_differences(
    stack: RunningStack, expected: Mapping[Group, ExpectedGroup], status: Mapping[str, Any], accepted: int
) -> Iterator[str]:
    """Yields a sentence for each difference between what is kept and what was accepted."""
    wanted = {"received": accepted, "folded": accepted, "pending": 0, "rejected": 0}
    for name, number in wanted.items():
        if status[name] != number:
            yield f"{status[name]} traces are {name}, but {number} must be"
    with open_database(stack) as connection:
        stored = {(row[0], row[1]): list(map(int, row[2:])) for row in connection.execute(CELLS, [PROJECT])}
        hotspots: dict[Group, dict[Func, list[int]]] = {}
        for release, page, uri, line, column, name, *sums in connection.execute(HOTSPOTS, [PROJECT]):
            hotspots.setdefault((release, page), {})[uri, line, column, name] = list(map(int, sums))
        row = connection.execute(ROLLED, {"slug": PROJECT}).fetchone()
    if stored.keys() != expected.keys():
        yield f"the groups are {sorted(stored)}, but {sorted(expected)} must be"
    for group, right in expected.items():
        yield from _compare_cells(group, stored.get(group), right)
        yield from _compare_funcs(group, hotspots.get(group, {}), right.funcs)
    if row is None or row[0]:
        yield f"the roll-up of days differs from its cells in {row[0] if row else 'all'} functions"


def _compare_cells(group: Group, stored: list[int] | None, sums: ExpectedGroup) -> Iterator[str]:
    names = ("traces", "views", *TIME_PART_NAMES)
    for name, kept, right in zip(
        names, stored or [0] * len(names), [sums.traces, sums.views, *sums.parts], strict=True
    ):
        if kept != right:
            yield f"{group}: {name} is {kept}, but {right} must be"


def _compare_funcs(group: Group, stored: dict[Func, list[int]], right: dict[Func, list[int]]) -> Iterator[str]:
    wrong = [func for func in stored.keys() | right.keys() if stored.get(func) != right.get(func)]
    if wrong:
        first = wrong[0]
        yield (
            f"{group}: {len(wrong)} of {len(right)} functions differ, "
            f"such as {first}: {stored.get(first)}, but {right.get(first)} must be"
        )
