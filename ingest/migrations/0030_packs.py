"""Bodies in an object store: packs, and where in them a body lies. Adding the columns rewrites no row."""

import django.db.models.deletion
from django.db import migrations, models

ADD = """
ALTER TABLE ingest_rawtrace ADD COLUMN pack_id uuid, ADD COLUMN pack_offset integer, ADD COLUMN pack_length integer;
"""
DROP = """
ALTER TABLE ingest_rawtrace DROP COLUMN pack_id, DROP COLUMN pack_offset, DROP COLUMN pack_length;
"""


# On the way back: without these columns nobody would find the bodies.
REFUSE = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM ingest_pack WHERE doomed_at IS NULL) THEN
        RAISE EXCEPTION 'Bodies of traces lie in the object store. This migration can be undone once none do.';
    END IF;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("ingest", "0027_receipt_partitions")]

    operations = [
        migrations.CreateModel(
            name="Pack",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField()),
                ("day_on", models.DateField()),
                ("traces", models.IntegerField()),
                ("bytes", models.BigIntegerField()),
                ("tidy_at", models.DateTimeField(null=True)),
                ("doomed_at", models.DateTimeField(null=True)),
                ("deleted_at", models.DateTimeField(null=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="ingest.project",
                    ),
                ),
            ],
            options={
                "db_table": "ingest_pack",
                "indexes": [
                    models.Index(fields=["day_on", "project"], name="pack_by_day"),
                    models.Index(
                        condition=models.Q(("tidy_at__isnull", False)), fields=["tidy_at"], name="pack_to_tidy"
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", True), ("doomed_at__isnull", False)),
                        fields=["doomed_at"],
                        name="pack_doomed",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="pack_deleted"
                    ),
                ],
            },
        ),
        migrations.RunSQL(ADD, DROP),
        migrations.RunSQL(migrations.RunSQL.noop, REFUSE),
    ]
