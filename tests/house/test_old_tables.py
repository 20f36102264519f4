"""No statement names a table that has become a part of another one: it would go on working, and miss most rows."""

import re
from typing import Final

from tests.house.tree import ROOT, list_files

# Receipts lie in partitions of `ingest_tracereceipt`. The table of before is the first of them.
OLD: Final = re.compile(r"\bingest_receipt\b")
THE_PARTITION_ITSELF: Final = {
    "ingest/models.py": "says what the name is",
    "ingest/migrations/0027_receipt_partitions.py": "makes it the first partition",
    "tests/aggregate/folding/test_claim_plans.py": "counts the partitions that a plan reads",
    "tests/aggregate/test_hot_tables.py": "looks at its storage settings",
    "tests/benchmarks/test_soak.py": "knows that it is one",
    "tests/ingest/test_receipt_migration.py": "goes back to before, and forth",
    "tests/ingest/test_receipt_partitions.py": "compares it with the others",
    "tests/telemetry/test_tables.py": "drops it",
    "tests/schema/test_previous_release.py": "also asks a release that has no other",
}
# These run before it is a partition.
FORMER: Final = re.compile(r"^(aggregate/migrations/000\d_|ingest/migrations/00[01]\d_)")


def list_uses() -> set[str]:
    files = list_files(".py", ".md", ".sql", ".sh", ".yaml", ".yml", ".json", ".html", ".conf")
    return {path for path in files if OLD.search((ROOT / path).read_text(encoding="utf-8"))}


def test_receipts_are_named_by_the_table_with_all_of_them() -> None:
    found = {path for path in list_uses() if not FORMER.match(path)}
    assert found - THE_PARTITION_ITSELF.keys() == set(), "write ingest_tracereceipt"
    assert THE_PARTITION_ITSELF.keys() - found == set(), "take these from the list"
