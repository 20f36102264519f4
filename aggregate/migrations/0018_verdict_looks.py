"""The looks at verdicts: a small table, so that looking often finds no more than looking once."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("aggregate", "0017_engine_time"),
        ("ingest", "0015_collection"),
    ]

    operations = [
        migrations.CreateModel(
            name="VerdictLook",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id",
                        "question",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("question", models.BinaryField()),
                ("number", models.SmallIntegerField()),
                ("looked_at", models.DateTimeField()),
                ("base_release", models.TextField()),
                ("head_release", models.TextField()),
                ("base_views", models.BigIntegerField()),
                ("head_views", models.BigIntegerField()),
                ("reached", models.FloatField()),
                ("information", models.FloatField()),
                ("bound", models.FloatField()),
                (
                    "state",
                    models.SmallIntegerField(
                        choices=[(0, "Slower"), (1, "Faster"), (2, "No Clear Change"), (3, "Too Few")]
                    ),
                ),
                ("page", models.TextField(null=True)),
                ("delta_ms", models.FloatField(null=True)),
                ("low_ms", models.FloatField(null=True)),
                ("high_ms", models.FloatField(null=True)),
                ("culprit", models.TextField(null=True)),
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
            options={"indexes": [models.Index(fields=["project", "looked_at"], name="look_by_age")]},
        ),
    ]
