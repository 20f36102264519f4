"""Hotspots as pieces with an array per sum. Their table becomes a view of the same name, with a row per piece and func.

A project of a million views has about two million hotspots: some ten seconds, in which folds wait. Workers of the
version before cannot fold any more: their batches fail, and are folded by the new ones.
"""

import django.db.models.deletion
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

SUMS = (
    *("self_samples", "total_samples", "self_us", "total_us", "hidden_us", "hidden_total_us", "uncertain_us"),
    "views",
)
OFTEN_ZERO = ("hidden_us", "hidden_total_us", "uncertain_us")
NAMES = ", ".join(SUMS)

# Arrays are compressed from 128 bytes on, and stay in the row: out of line they would take a row and an index entry each.
STORAGE = "; ".join(
    ["ALTER TABLE aggregate_hotspotpiece SET (toast_tuple_target = 128)"]
    + [f"ALTER TABLE aggregate_hotspotpiece ALTER COLUMN {name} SET STORAGE MAIN" for name in ("func_ids", *SUMS)]
)
PACKED = ", ".join(
    f"CASE WHEN bool_or({name} <> 0) THEN array_agg({name} ORDER BY func_id) END"
    if name in OFTEN_ZERO
    else f"array_agg({name} ORDER BY func_id)"
    for name in SUMS
)
FILL = f"""
LOCK TABLE aggregate_hotspot IN ACCESS EXCLUSIVE MODE;
INSERT INTO aggregate_hotspotpiece (project_id, cell_id, id, func_ids, {NAMES})
SELECT project_id, cell_id, 1, array_agg(func_id ORDER BY func_id), {PACKED}
FROM aggregate_hotspot GROUP BY 1, 2 ORDER BY 1, 2;
DROP TABLE aggregate_hotspot;
"""
CREATE_VIEW = f"""
CREATE VIEW aggregate_hotspot AS
SELECT s.project_id, s.cell_id, s.func_id,
       {", ".join(f"COALESCE(s.{name}, 0) AS {name}" if name in OFTEN_ZERO else f"s.{name}" for name in SUMS)}
FROM (SELECT p.project_id, p.cell_id, unnest(p.func_ids) AS func_id,
             {", ".join(f"unnest(p.{name}) AS {name}" for name in SUMS)}
      FROM aggregate_hotspotpiece p) AS s
"""
UNFILL = f"""
LOCK TABLE aggregate_hotspotpiece IN ACCESS EXCLUSIVE MODE;
CREATE TABLE aggregate_hotspot_rows (
    project_id bigint NOT NULL, cell_id integer NOT NULL, func_id integer NOT NULL,
    self_samples bigint NOT NULL, total_samples bigint NOT NULL, self_us bigint NOT NULL, total_us bigint NOT NULL,
    hidden_us bigint NOT NULL, views bigint NOT NULL, hidden_total_us bigint DEFAULT 0 NOT NULL,
    uncertain_us bigint DEFAULT 0 NOT NULL);
INSERT INTO aggregate_hotspot_rows (project_id, cell_id, func_id, {NAMES})
SELECT project_id, cell_id, func_id, {", ".join(f"sum({name})::bigint" for name in SUMS)}
FROM aggregate_hotspot GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
DROP VIEW aggregate_hotspot;
ALTER TABLE aggregate_hotspot_rows RENAME TO aggregate_hotspot;
ALTER TABLE aggregate_hotspot ADD CONSTRAINT aggregate_hotspot_pkey PRIMARY KEY (project_id, cell_id, func_id);
"""


class Migration(migrations.Migration):
    dependencies = [("aggregate", "0019_job_counts"), ("ingest", "0020_sample_project")]

    operations = [
        migrations.CreateModel(
            name="HotspotPiece",
            fields=[
                ("pk", models.CompositePrimaryKey("project_id", "cell_id", "id", blank=True, editable=False, primary_key=True, serialize=False)),
                ("cell_id", models.IntegerField()),
                ("id", models.IntegerField()),
                ("func_ids", ArrayField(models.IntegerField())),
                *((name, ArrayField(models.BigIntegerField(), null=name in OFTEN_ZERO)) for name in SUMS),
                ("project", models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to="ingest.project")),
            ],
        ),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name="Hotspot")],
            database_operations=[
                migrations.RunSQL(FILL, UNFILL),
                migrations.RunSQL(CREATE_VIEW, migrations.RunSQL.noop),
            ],
        ),
    ]
