"""Tables of which many rows are dead soon have an autovacuum of their own."""

import pytest

from ingest.storage.receipt_partitions import list_receipt_partitions
from tests.aggregate.posting import rows

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("table", "share"),
    [
        ("aggregate_hotspotpiece", "0.02"),
        ("aggregate_calltreepiece", "0.02"),
        ("aggregate_pageview", "0.05"),
    ],
)
def test_they_are_vacuumed_early(table: str, share: str) -> None:
    in_line, out_of_line = (
        "SELECT unnest(reloptions) FROM pg_class WHERE oid = %s::regclass",
        """SELECT unnest(t.reloptions) FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid
           WHERE c.oid = %s::regclass""",
    )
    wanted = (f"autovacuum_vacuum_scale_factor={share}",)
    assert wanted in rows(in_line, table)
    assert wanted in rows(out_of_line, table)


def test_partitions_of_receipts_are_vacuumed_early() -> None:
    for partition in list_receipt_partitions():
        options = rows("SELECT unnest(reloptions) FROM pg_class WHERE relname = %s", partition.name)
        assert ("autovacuum_vacuum_scale_factor=0.02",) in options
