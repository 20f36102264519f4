"""The plans of a claim and a fold over several partitions of receipts: indexes, and only the partitions that matter."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.db import connection

from aggregate.fold.pending import BatchOutcome, fold_pending_batch
from ingest.storage.partitions import create_partitions
from ingest.storage.receipt_partitions import PARTITION_DAYS, partition_bounds
from profcore.times import DAY, start_of_day
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.posting import post, rows
from tests.envelopes import make_envelope

pytestmark = [pytest.mark.django_db, pytest.mark.slow(10)]
START, END = partition_bounds(start_of_day(datetime.now(UTC)) + 60 * DAY)
PARTITIONS = 3
# Those of the present days are empty, so reading them needs no index.
FILLED = {f"ingest_tracereceipt_{START + number * PARTITION_DAYS * DAY:%Y%m%d}" for number in range(PARTITIONS)}
TRACES = 100  # with many at once, reading all receipts looks cheap to a planner
FOLDED = """
INSERT INTO ingest_tracereceipt (project_id, view_id, seq, group_id, received_at, view_started_at, device_class,
    browser, end_reason, interval_us, body_bytes, state, attempts, crashes)
SELECT %s, gen_random_uuid(), 0, 1, at, at, 0, 0, 0, 10000, 10, 1, 1, 0
FROM (SELECT %s::timestamptz + make_interval(days => (n %% %s) * %s) AS at FROM generate_series(1, 9000) n) AS times
"""
Plan = dict[str, Any]  # Any: JSON


def nodes_of(plan: Plan) -> Iterator[Plan]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes_of(inner)


class Plans:
    """The plans of all statements about receipts."""

    def __init__(self) -> None:
        self.statements: list[tuple[str, list[Plan]]] = []

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if "ingest_tracereceipt" in sql and not sql.startswith("EXPLAIN"):
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
                ((plan,),) = cursor.fetchall()
            parsed = plan if isinstance(plan, list) else json.loads(plan)
            self.statements.append((sql, list(nodes_of(parsed[0]["Plan"]))))
        return execute(sql, params, many, context)

    def tables(self, part: str) -> set[str]:
        """Returns the tables with receipts that the statement with this part reads or changes."""
        ((nodes,),) = ([nodes for sql, nodes in self.statements if part in sql],)
        named = {node.get("Relation Name", "") for node in nodes}
        return {name for name in named if name.startswith("ingest_tracereceipt_")}


@pytest.fixture
def plans() -> Plans:
    """The plans of a fold of a batch, with thousands of folded ones in three partitions beside."""
    create_project(slug="shop", key="shop", origins=["*"])
    project = Project.objects.get()
    for number in range(PARTITIONS):
        create_partitions((START + number * PARTITION_DAYS * DAY).date(), 1)
    with connection.cursor() as cursor:
        cursor.execute(FOLDED, [project.pk, START, PARTITIONS, PARTITION_DAYS])
    with time_machine.travel(END + DAY / 2, tick=False):
        began = END.timestamp() * 1000
        post("shop", *(make_envelope(f"v{n}", timeOrigin=began, viewStart=began) for n in range(TRACES)))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE ingest_tracereceipt")
    plans = Plans()
    with connection.execute_wrapper(plans):
        assert fold_pending_batch() is BatchOutcome.FOLDED
    assert rows("SELECT count(*) FROM ingest_tracereceipt WHERE state = 0") == [(0,)]
    return plans


def test_no_statement_reads_all_receipts(plans: Plans) -> None:
    assert len(plans.statements) >= 6
    for sql, nodes in plans.statements:
        for node in nodes:
            is_large = node.get("Relation Name") in FILLED
            assert not (is_large and node["Node Type"] == "Seq Scan"), sql


def test_traces_are_taken_held_and_marked_in_their_partition_only(plans: Plans) -> None:
    partitions = {f"ingest_tracereceipt_{END:%Y%m%d}"}
    assert plans.tables("SET attempts = least") == partitions
    assert plans.tables("AS held") == partitions
    assert plans.tables("WITH marked AS") == partitions
