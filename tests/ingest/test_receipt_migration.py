"""The migration of receipts to partitions: with data, beside the version before, and back."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from ingest.partitions import create_partitions
from ingest.projects.creation import create_project
from ingest.receipt_partitions import list_receipt_partitions, partition_bounds
from profcore.times import DAY
from tests.aggregate.posting import fold_all, post, rows
from tests.envelopes import make_envelope, view_id_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(10)]

BEFORE: Final = [("ingest", "0026_border_receipts")]
AFTER: Final = [("ingest", "0027_receipt_partitions")]
COLUMNS: Final = """project_id, view_id, seq, group_id, received_at, view_started_at, device_class, browser, end_reason,
    interval_us, body_bytes, state, attempts, crashes"""
# As web servers of the version before store a trace.
STORE: Final = f"""
INSERT INTO ingest_receipt ({COLUMNS})
SELECT project_id, %s::uuid, 0, group_id, now(), now(), 0, 0, 0, 10000, 10, 0, 0, 0 FROM ingest_receipt LIMIT 1
ON CONFLICT (project_id, view_id, seq) DO NOTHING RETURNING view_id
"""


def migrate(target: list[tuple[str, str]]) -> None:
    MigrationExecutor(connection).migrate(target)


@pytest.fixture(autouse=True)
def schema() -> Iterator[None]:
    yield
    with connection.cursor() as cursor:  # one in the future would move the border
        cursor.execute("SELECT coalesce(to_regclass('ingest_tracereceipt'), to_regclass('ingest_receipt'))::text")
        ((table,),) = cursor.fetchall()
        cursor.execute(f"DELETE FROM {table}")
    migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())


def receipts(table: str) -> list[tuple[Any, ...]]:
    return rows(f"SELECT {COLUMNS} FROM {table} ORDER BY view_id, seq")


def test_receipts_become_a_partition_and_later_ones_come_back_with_them() -> None:
    create_project(slug="shop", key="shop", origins=["*"])
    post("shop", make_envelope("a"), make_envelope("b"), make_envelope("c"))
    fold_all()
    post("shop", make_envelope("pending"))
    before = receipts("ingest_tracereceipt")
    migrate(BEFORE)
    assert rows("SELECT relkind::text FROM pg_class WHERE relname = 'ingest_receipt'") == [("r",)]
    assert receipts("ingest_receipt") == before
    file = rows("SELECT pg_relation_filenode('ingest_receipt'), pg_relation_filenode('ingest_receipt_pkey')")
    migrate(AFTER)
    assert receipts("ingest_tracereceipt") == before
    assert rows("SELECT pg_relation_filenode('ingest_receipt'), pg_relation_filenode('ingest_receipt_pkey')") == file
    assert rows("SELECT count(*) FROM pg_index WHERE indrelid = 'ingest_receipt'::regclass") == [(5,)]
    assert rows("SELECT count(*) FROM pg_constraint WHERE conname = 'receipt_in_first_partition'") == [(0,)]

    # The version before goes on until the partition's last day, 15 days from now at least. Both see the same receipts.
    assert [(found.name, found.start_at) for found in list_receipt_partitions()] == [("ingest_receipt", None)]
    end_at = list_receipt_partitions()[0].end_at
    assert timedelta(days=15) < end_at - datetime.now(UTC) <= timedelta(days=30)
    assert partition_bounds(end_at)[0] == end_at
    assert rows(STORE, view_id_of("b")) == []
    assert len(rows(STORE, view_id_of("by the version before"))) == 1
    post("shop", make_envelope("by the version before"))
    assert len(receipts("ingest_tracereceipt")) == 5

    create_partitions(end_at.date(), 1)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_tracereceipt SET received_at = %s WHERE view_id = %s", [end_at, view_id_of("a")])
        cursor.execute(f"DROP TABLE ingest_rawtrace_{end_at:%Y%m%d}")
    before = receipts("ingest_tracereceipt")
    assert len(receipts("ingest_receipt")) == 4
    migrate(BEFORE)
    assert receipts("ingest_receipt") == before
    assert rows("SELECT count(*) FROM pg_class WHERE relname LIKE 'ingest_tracereceipt%%'") == [(0,)]


def test_the_way_back_makes_the_first_partition_if_it_was_dropped() -> None:
    create_partitions((datetime.now(UTC) + 60 * DAY).date(), 1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE tablename = 'ingest_receipt' ORDER BY indexname")
        before = cursor.fetchall()
        cursor.execute("DROP TABLE ingest_receipt")
        cursor.execute(f"DROP TABLE ingest_rawtrace_{datetime.now(UTC) + 60 * DAY:%Y%m%d}")
    migrate(BEFORE)
    assert rows("SELECT indexdef FROM pg_indexes WHERE tablename = 'ingest_receipt' ORDER BY indexname") == before
