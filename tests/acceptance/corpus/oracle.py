"""What an independent, slow reference found in the recorded corpus, beside what a Fieldflame has kept of it.

Each app of the corpus is a project, whose slug and key are the app's name.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import psycopg

from profcore.trace.dimensions import NAVIGATIONS
from tests.corpus import Json, corpus_envelopes, expected

APPS: Final = ("crunch", "docsite", "graphlab", "shopboard")
PARTS: Final = ("js", "hidden", "idle", "unobserved", "profiler", "span")
FUNCS: Final = """
SELECT f.uri, f.line, f.col, f.name, sum(h.self_samples), sum(h.total_samples), sum(h.self_us), sum(h.total_us),
       sum(h.views)
FROM aggregate_hotspot h
JOIN aggregate_cell c ON c.project_id = h.project_id AND c.id = h.cell_id
JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
JOIN aggregate_func f ON f.project_id = h.project_id AND f.id = h.func_id
WHERE h.project_id = %s AND g.release = %s AND g.page = %s GROUP BY 1, 2, 3, 4
"""
TIME: Final = """
SELECT sum(js_us), sum(hidden_us), sum(idle_us), sum(unobserved_us), sum(profiler_us), sum(span_us), sum(c.traces),
       sum(js_samples + hidden_samples + idle_samples + profiler_samples)
FROM aggregate_cell c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
WHERE c.project_id = %s AND g.release = %s AND g.page = %s
"""
NAVIGATED: Final = """
SELECT g.release, g.page, c.navigation, sum(c.traces)::int
FROM aggregate_cell c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
WHERE c.project_id = %s AND c.traces > 0 GROUP BY 1, 2, 3
"""


def read_envelopes() -> Iterator[tuple[str, Json]]:
    """Yields (app, envelope), each with a navigation in turn: all were recorded before senders told it."""
    for index, (app, envelope) in enumerate(corpus_envelopes()):
        navigation = NAVIGATIONS[index % len(NAVIGATIONS)] if index % len(NAVIGATIONS) else None
        yield app, envelope | {"navigation": navigation}


def compare_corpus(connection: "psycopg.Connection[tuple[Any, ...]]", apps: Sequence[str] = APPS) -> list[str]:
    """Returns a line for each group of some apps whose funcs or parts of time differ from the reference's integers."""
    differences = []
    sent = Counter(
        (app, envelope["release"], envelope["page"], NAVIGATIONS.index(envelope["navigation"] or "unknown"))
        for app, envelope in read_envelopes()
    )
    ids = dict(connection.execute("SELECT slug, id FROM projects_project").fetchall())
    for app in apps:
        kept = {(app, *key): traces for *key, traces in connection.execute(NAVIGATED, (ids[app],))}
        if kept != {key: traces for key, traces in sent.items() if key[0] == app}:
            differences.append(f"{app}: traces by navigation are {kept}")
    for group in expected():
        if group["app"] in apps:
            differences += compare_group(connection, ids[group["app"]], group)
    return differences


def compare_group(connection: "psycopg.Connection[tuple[Any, ...]]", project_id: int, group: Json) -> Iterator[str]:
    """Yields a line for each kind of difference in a group."""
    names = (group["app"], group["release"], group["page"])
    place = (project_id, *names[1:])
    stored = {tuple(row[:4]): [int(n) for n in row[4:]] for row in connection.execute(FUNCS, place)}
    oracle = {
        (f["uri"], f["line"], f["column"], f["name"]): [
            f[column] for column in ("self_samples", "total_samples", "self_us", "total_us", "views")
        ]
        for f in group["functions"]
    }
    if stored != oracle:
        wrong = [key for key in stored.keys() | oracle.keys() if stored.get(key) != oracle.get(key)]
        yield f"{names}: {len(wrong)} funcs differ, such as {wrong[0]}"
    row = connection.execute(TIME, place).fetchone()
    assert row is not None
    wanted = [*(group["time_us"][part] for part in PARTS), group["traces"], group["samples"]]
    if [None if n is None else int(n) for n in row] != wanted:
        yield f"{names}: time {row} is not {wanted}"
