"""Counts of pages that hung or crashed."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0001_initial"), ("projects", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="HangCount",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id",
                        "day_on",
                        "release",
                        "page",
                        "reason",
                        "signature",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("day_on", models.DateField()),
                ("release", models.TextField()),
                ("page", models.TextField()),
                ("reason", models.SmallIntegerField()),
                ("signature", models.UUIDField()),
                ("stack_state", models.SmallIntegerField()),
                ("frames", models.JSONField()),
                ("originals", models.JSONField(null=True)),
                ("reports", models.BigIntegerField()),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="projects.project",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="hangcount",
            index=models.Index(
                condition=models.Q(("originals__isnull", True)), fields=["project"], name="hang_not_looked_up"
            ),
        ),
    ]
