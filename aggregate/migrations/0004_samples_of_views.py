"""Views know their sample rate, and lie in an index in the uniform order of samples; smaller rows."""

import django.db.models.expressions
from django.db import migrations, models

# The first 63 bits of the id's SHA-256: `profcore.stats.sampling.sample_key`.
CREATE_SAMPLE_KEY = """
CREATE FUNCTION fieldflame_sample_key(view_id uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT ('x' || encode(substr(sha256(uuid_send(view_id)), 1, 8), 'hex'))::bit(64)::bigint & 9223372036854775807 $$
"""
FILL_RATES = """
UPDATE aggregate_view v SET sample_rate = f.sample_rate FROM (
    SELECT DISTINCT ON (r.project_id, r.view_id, r.group_id) r.project_id, r.view_id, r.group_id, r.sample_rate
    FROM ingest_receipt r ORDER BY r.project_id, r.view_id, r.group_id, r.received_at, r.seq) f
WHERE f.project_id = v.project_id AND f.view_id = v.view_id AND f.group_id = v.group_id AND f.sample_rate <> 1
"""


class Migration(migrations.Migration):
    dependencies = [("aggregate", "0003_after_the_fold")]

    operations = [
        migrations.RunSQL(CREATE_SAMPLE_KEY, "DROP FUNCTION fieldflame_sample_key(uuid)"),
        migrations.AddField("view", "sample_rate", models.FloatField(null=True)),
        migrations.RunSQL(FILL_RATES, migrations.RunSQL.noop),
        migrations.AlterField("view", "js_samples", models.IntegerField()),
        migrations.AlterField("view", "hidden_samples", models.IntegerField()),
        migrations.AlterField("view", "idle_samples", models.IntegerField()),
        migrations.AlterField("view", "profiler_samples", models.IntegerField()),
        migrations.RemoveIndex("view", "view_of_cell"),
        migrations.AddIndex(
            "view",
            models.Index(
                models.F("project"),
                models.F("cell_id"),
                django.db.models.expressions.Func("view_id", function="fieldflame_sample_key"),
                name="view_to_sample",
            ),
        ),
    ]
