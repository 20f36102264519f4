"""Posting and folding in one process, for tests of the fold's results."""

import json
from typing import Any

import psycopg
from django.db import connection
from django.test import RequestFactory

from aggregate.fold.pending import BatchOutcome, fold_pending_batch
from aggregate.worker_leases import TOKEN, own_token
from tests.runner.endpoint_middleware import receive_traces

GONE = f"{2**30}:1"  # a process id beyond the kernel's limit


def post(key: str, *envelopes: dict[str, Any]) -> None:
    """Posts envelopes as one array; all must be accepted."""
    request = RequestFactory().post(
        f"/ingest/v1/traces?key={key}", json.dumps(envelopes), content_type="application/json"
    )
    answer = receive_traces(request)
    assert answer.status_code == 202, answer.content
    rejected = json.loads(answer.content)["rejected"]
    assert rejected == [], rejected


def fold_all() -> list[BatchOutcome]:
    """Folds until nothing is pending."""
    outcomes: list[BatchOutcome] = []
    while (outcome := fold_pending_batch()) is not BatchOutcome.NOTHING_PENDING:
        outcomes.append(outcome)
    return outcomes


def rows(sql: str, *parameters: str | int) -> list[tuple[Any, ...]]:
    """Returns the rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def be_killed() -> None:
    """Makes what this process has claimed that of a killed one: its token is in the table, and its process is gone."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE aggregate_workerlease SET process = %s WHERE token = %s", [GONE, own_token()])
    TOKEN.clear()


def database_url() -> str:
    """Returns the address of this test's database, for a process of its own."""
    database = connection.settings_dict
    login = f"{database['USER']}:{database['PASSWORD']}" if database["PASSWORD"] else database["USER"]
    if str(database["HOST"]).startswith("/"):
        return f"postgresql://{login}@/{database['NAME']}?host={database['HOST']}"
    return f"postgresql://{login}@{database['HOST']}:{database['PORT']}/{database['NAME']}"


def is_held(project_id: int) -> bool:
    """Tells whether the last step of deleting a project would wait now, as another session sees it."""
    with psycopg.connect(database_url()) as other:
        try:
            other.execute("SELECT FROM projects_project WHERE id = %s FOR UPDATE NOWAIT", [project_id])
        except psycopg.errors.LockNotAvailable:
            return True
        return False


# Of this database alone: the tests of other processes share its server.
WAITING = """
SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted
"""
HOTSPOTS = """
SELECT g.release, g.page, c.starts_at, c.device_class, c.browser, c.navigation, c.cache, f.uri, f.line, f.col, f.name,
       sum(h.self_samples), sum(h.total_samples), sum(h.self_us), sum(h.total_us), sum(h.hidden_us),
       sum(h.hidden_total_us), sum(h.uncertain_us), sum(h.views)
FROM aggregate_hotspot h
JOIN aggregate_cell c ON c.project_id = h.project_id AND c.id = h.cell_id
JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
JOIN aggregate_func f ON f.project_id = h.project_id AND f.id = h.func_id
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
"""
CELLS = """
SELECT g.release, g.page, c.starts_at, c.device_class, c.browser, c.navigation, c.cache, c.views, c.traces, c.js_us,
       c.hidden_us, c.engine_us, c.engine_samples, c.idle_us, c.unobserved_us, c.profiler_us, c.span_us,
       c.js_samples, c.hidden_samples, c.idle_samples, c.profiler_samples, c.marker_us
FROM aggregate_cell c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
WHERE c.traces > 0 ORDER BY 1, 2, 3, 4, 5, 6, 7
"""


def everything() -> tuple[list[tuple[Any, ...]], ...]:
    """Returns all sums without dense ids: equal after equal work in any order."""
    return rows(HOTSPOTS), rows(CELLS), call_trees(), contributions()


def func_names() -> dict[tuple[int, int], str]:
    """Returns each func's name and column by (project id, func id): the ids are a project's own."""
    funcs = rows("SELECT project_id, id, name || '@' || coalesce(col, 0) FROM aggregate_func")
    return {(project_id, func_id): name for project_id, func_id, name in funcs}


def call_trees() -> list[tuple[Any, ...]]:
    """Returns every call node's path of names with its sums."""
    from profcore.sums.blobs import decode_call_tree
    from profcore.sums.calltree import merge_call_trees

    names = func_names()
    pieces: dict[tuple[Any, ...], list[Any]] = {}
    for *cell, blob in rows(
        """SELECT p.project_id, g.release, g.page, c.starts_at, c.device_class, c.browser, c.navigation,
                  c.cache, p.blob
           FROM aggregate_calltreepiece p
           JOIN aggregate_cell c ON c.project_id = p.project_id AND c.id = p.cell_id
           JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id"""
    ):
        pieces.setdefault(tuple(cell), []).append(decode_call_tree(bytes(blob)))
    nodes = []
    for (project_id, *cell_key), trees in pieces.items():
        tree = merge_call_trees(trees)
        paths: list[str] = []
        for node, prefix in enumerate(tree.prefix):
            paths.append((paths[prefix] + " > " if prefix >= 0 else "") + names[project_id, tree.func[node]])
            nodes.append((*cell_key, paths[node], tree.self_us[node], tree.self_samples[node], tree.hidden_us[node]))
    return sorted(nodes)


def contributions() -> list[tuple[Any, ...]]:
    """Returns every view's contribution by func name."""
    from profcore.sums.blobs import decode_contribution

    names = func_names()
    result = []
    for project_id, view_id, traces, is_truncated, blob in rows(
        "SELECT project_id, view_id, traces, is_truncated, contribution FROM aggregate_pageview ORDER BY view_id"
    ):
        c = decode_contribution(bytes(blob))
        columns = (
            *(c.self_us, c.total_us, c.hidden_us, c.hidden_total_us, c.uncertain_us),
            *(c.self_samples, c.total_samples),
        )
        funcs = sorted((names[project_id, func], *(column[n] for column in columns)) for n, func in enumerate(c.func))
        result.append((str(view_id), traces, is_truncated, funcs))
    return result
