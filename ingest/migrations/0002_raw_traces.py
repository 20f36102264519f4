"""The raw traces: partitioned by day, bodies kept out of line as they came (they are gzip already)."""

from django.db import migrations

CREATE = """
CREATE TABLE ingest_rawtrace (
    project_id bigint NOT NULL,
    view_id uuid NOT NULL,
    seq integer NOT NULL,
    received_at timestamptz NOT NULL,
    trace_id uuid NOT NULL,
    is_gzip boolean NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (project_id, view_id, seq, received_at)
) PARTITION BY RANGE (received_at);
ALTER TABLE ingest_rawtrace ALTER COLUMN body SET STORAGE EXTERNAL;
-- Every receipt leaves the queue's partial indexes soon after it came: keep them swept.
ALTER TABLE ingest_receipt SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
CREATE INDEX ingest_rawtrace_trace ON ingest_rawtrace (project_id, trace_id);
"""


class Migration(migrations.Migration):
    dependencies = [("ingest", "0001_initial")]
    operations = [migrations.RunSQL(CREATE, "DROP TABLE ingest_rawtrace;")]
