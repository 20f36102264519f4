"""What the linter finds in migrations that were in use before it, and why each stays. New ones have no findings.

Changing a migration that databases have applied changes nothing there. So these stay as they are.
"""

from typing import Final

SMALL_THEN: Final = "no release was out, and the tables were small"
STOPPED: Final = "the changelog says that workers and beat are stopped before it"
OWN_COPY: Final = "it moves rows in the migration; data steps did not exist yet"

# (migration, rule of the linter): why it stays.
KEPT: Final[dict[tuple[str, str], str]] = {
    ("ingest.0003_retention_and_quotas", "require-concurrent-index-creation"): SMALL_THEN,
    ("ingest.0005_receipt_counts", "moves-rows"): OWN_COPY,
    ("ingest.0007_sample_rate_of_one", "ban-drop-not-null"): f"older parts write the column; {STOPPED}",
    ("ingest.0011_claim_tokens", "ban-drop-column"): STOPPED,
    (
        "ingest.0027_receipt_partitions",
        "moves-rows",
    ): "only on the way back",
    ("aggregate.0003_after_the_fold", "require-concurrent-index-creation"): SMALL_THEN,
    ("aggregate.0003_after_the_fold", "moves-rows"): OWN_COPY,
    ("aggregate.0004_samples_of_views", "changing-column-type"): SMALL_THEN,
    ("aggregate.0004_samples_of_views", "require-concurrent-index-creation"): SMALL_THEN,
    ("aggregate.0004_samples_of_views", "require-concurrent-index-deletion"): SMALL_THEN,
    ("aggregate.0004_samples_of_views", "moves-rows"): OWN_COPY,
    ("aggregate.0007_day_hotspots", "moves-rows"): OWN_COPY,
    ("aggregate.0008_rolled_hours", "require-concurrent-index-creation"): SMALL_THEN,
    ("aggregate.0008_rolled_hours", "moves-rows"): "it empties a roll-up, which beat fills again",
    ("aggregate.0011_funcs_by_uri", "prefer-robust-stmts"): "once interrupted, its index is dropped by hand",
    ("aggregate.0013_claim_tokens", "ban-drop-column"): STOPPED,
    ("aggregate.0014_announced_releases", "moves-rows"): "one row per release",
    ("aggregate.0015_func_bounds", "require-concurrent-index-creation"): SMALL_THEN,
    ("aggregate.0015_func_bounds", "moves-rows"): "at most 1,000 rows per project",
    ("aggregate.0016_navigation", "prefer-robust-stmts"): "the statement before drops what an interruption left",
    ("aggregate.0016_navigation", "ban-drop-constraint"): STOPPED,
    ("aggregate.0020_hotspot_pieces", "ban-drop-table"): STOPPED,
    ("aggregate.0020_hotspot_pieces", "moves-rows"): f"{OWN_COPY}; {STOPPED}",
}
