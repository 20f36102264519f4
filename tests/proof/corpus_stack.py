"""The recorded corpus in a running stack: post it, and read back what the oracle expects."""

import http.client
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import psycopg

from config.up.running import RunningStack
from profcore.trace.dimensions import NAVIGATIONS
from tests.corpus import Json, corpus_envelopes, expected


class Stack(Protocol):
    """What has a database: a running Fieldflame, or parts of several."""

    @property
    def store_environment(self) -> dict[str, str]: ...


APPS = ("crunch", "docsite", "graphlab", "shopboard")
PARTS = ("js", "hidden", "idle", "unobserved", "profiler", "span")


def corpus(apps: Sequence[str] = APPS) -> Iterator[tuple[str, bytes]]:
    """Yields (app, envelope as JSON) of every recorded trace of some apps, of all by default."""
    for app, envelope in _with_navigations():
        if app in apps:
            yield app, json.dumps(envelope, separators=(",", ":")).encode()


def _with_navigations() -> Iterator[tuple[str, Json]]:
    """Yields all traces, each with a navigation in turn: all were recorded before senders told it."""
    for index, (app, envelope) in enumerate(corpus_envelopes()):
        yield (
            app,
            envelope | {"navigation": NAVIGATIONS[index % len(NAVIGATIONS)] if index % len(NAVIGATIONS) else None},
        )


CREATE = """
import json
from ingest.projects.creation import create_project
from ingest.projects.tokens import create_token
tokens = {{}}
for slug in {slugs!r}:
    project, _ = create_project(slug=slug, key=slug, origins=["*"])
    tokens[slug] = create_token(project=project)[1]
print(json.dumps(tokens))
"""


def create_projects(stack: RunningStack, slugs: Sequence[str]) -> dict[str, str]:
    """Returns the tokens of new projects whose keys are their slugs; in one process, since each takes seconds."""
    tokens: dict[str, str] = json.loads(stack.manage("shell", "-c", CREATE.format(slugs=slugs)).splitlines()[-1])
    return tokens


def post_until_accepted(port: int, app: str, body: bytes, limit_s: float = 120.0) -> None:
    """Posts one envelope as a page would, and retries while the server is away or busy. Raises on a refusal."""
    deadline = time.monotonic() + limit_s
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            connection.request(
                "POST", f"/ingest/v1/traces?key={app}", body, {"Content-Type": "text/plain;charset=UTF-8"}
            )
            answer = connection.getresponse()
            text = answer.read()
        except OSError:
            status, text = 0, b"no answer"
        except http.client.HTTPException:
            status, text = 0, b"a broken answer"
        else:
            status = answer.status
        finally:
            connection.close()
        if status == 202:
            return
        if status not in (0, 429, 500, 502, 503) or time.monotonic() > deadline:
            raise AssertionError(f"the door answered {status}: {text[:300]!r}")
        time.sleep(0.2)


def database(stack: Stack) -> "psycopg.Connection[tuple[Any, ...]]":
    """Returns a connection to a stack's database, which may be behind a pooler."""
    return psycopg.connect(stack.store_environment["DATABASE_URL"], autocommit=True, prepare_threshold=None)


FUNCS = """
SELECT f.uri, f.line, f.col, f.name, sum(h.self_samples), sum(h.total_samples), sum(h.self_us), sum(h.total_us),
       sum(h.views)
FROM aggregate_hotspot h
JOIN aggregate_cell c ON c.project_id = h.project_id AND c.id = h.cell_id
JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
JOIN aggregate_func f ON f.project_id = h.project_id AND f.id = h.func_id
WHERE h.project_id = %s AND g.release = %s AND g.page = %s GROUP BY 1, 2, 3, 4
"""
TIME = """
SELECT sum(js_us), sum(hidden_us), sum(idle_us), sum(unobserved_us), sum(profiler_us), sum(span_us), sum(c.traces),
       sum(js_samples + hidden_samples + idle_samples + profiler_samples)
FROM aggregate_cell c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
WHERE c.project_id = %s AND g.release = %s AND g.page = %s
"""


NAVIGATED = """
SELECT g.release, g.page, c.navigation, sum(c.traces)::int
FROM aggregate_cell c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
WHERE c.project_id = %s AND c.traces > 0 GROUP BY 1, 2, 3
"""


def compare_with_oracle(stack: Stack, apps: Sequence[str] = APPS) -> list[str]:
    """Returns a line for each group of some apps whose funcs or parts of time differ from the oracle's integers."""
    differences = []
    sent = Counter(
        (app, envelope["release"], envelope["page"], NAVIGATIONS.index(envelope["navigation"] or "unknown"))
        for app, envelope in _with_navigations()
    )
    with database(stack) as connection:
        ids = dict(connection.execute("SELECT slug, id FROM ingest_project").fetchall())
        for app in apps:
            kept = {(app, *key): traces for *key, traces in connection.execute(NAVIGATED, (ids[app],))}
            if kept != {key: traces for key, traces in sent.items() if key[0] == app}:
                differences.append(f"{app}: traces by navigation are {kept}")
        for group in (group for group in expected() if group["app"] in apps):
            names = (group["app"], group["release"], group["page"])
            place = (ids[group["app"]], *names[1:])
            stored = {tuple(row[:4]): [int(n) for n in row[4:]] for row in connection.execute(FUNCS, place)}
            oracle = {
                (f["uri"], f["line"], f["column"], f["name"]): [
                    f[column] for column in ("self_samples", "total_samples", "self_us", "total_us", "views")
                ]
                for f in group["functions"]
            }
            if stored != oracle:
                wrong = [key for key in stored.keys() | oracle.keys() if stored.get(key) != oracle.get(key)]
                differences.append(f"{names}: {len(wrong)} funcs differ, such as {wrong[0]}")
            row = connection.execute(TIME, place).fetchone()
            assert row is not None
            wanted = [*(group["time_us"][part] for part in PARTS), group["traces"], group["samples"]]
            if [None if n is None else int(n) for n in row] != wanted:
                differences.append(f"{names}: time {row} is not {wanted}")
    return differences
