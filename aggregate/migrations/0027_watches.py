"""Watches over a project's cost: their states, and each change of a state."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("aggregate", "0022_hot_tables"), ("ingest", "0030_packs")]

    operations = [
        migrations.CreateModel(
            name="Watch",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.IntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[("release", "Release"), ("budget", "Budget"), ("new_cost", "New Cost")], max_length=10
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("question", models.JSONField(default=dict)),
                ("is_on", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("evaluated_at", models.DateTimeField(null=True)),
                ("problem", models.TextField(null=True)),
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
                "indexes": [models.Index(condition=models.Q(("is_on", True)), fields=["due_at"], name="watch_due")],
            },
        ),
        migrations.CreateModel(
            name="WatchState",
            fields=[
                ("watch_id", models.IntegerField()),
                ("subject_key", models.BinaryField()),
                ("release", models.TextField(default="")),
                ("base_release", models.TextField(default="")),
                ("page", models.TextField(null=True)),
                ("subject", models.TextField(default="")),
                (
                    "state",
                    models.SmallIntegerField(
                        choices=[(0, "Unknown"), (1, "Ok"), (2, "Suspected"), (3, "Confirmed"), (4, "Resolved")]
                    ),
                ),
                ("look", models.SmallIntegerField(null=True)),
                ("base_views", models.BigIntegerField(null=True)),
                ("views", models.BigIntegerField(default=0)),
                ("value", models.FloatField(null=True)),
                ("low", models.FloatField(null=True)),
                ("high", models.FloatField(null=True)),
                ("relative", models.FloatField(null=True)),
                ("threshold", models.FloatField(null=True)),
                ("q", models.FloatField(null=True)),
                ("bound", models.FloatField(null=True)),
                ("culprit", models.TextField(null=True)),
                ("began_at", models.DateTimeField(null=True)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id",
                        "watch_id",
                        "subject_key",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("bad", models.SmallIntegerField(default=0)),
                ("quiet", models.SmallIntegerField(default=0)),
                ("since_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
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
                "indexes": [
                    models.Index(condition=models.Q(("state__in", (2, 3))), fields=["state"], name="state_open")
                ],
            },
        ),
        migrations.CreateModel(
            name="StateChange",
            fields=[
                ("watch_id", models.IntegerField()),
                ("subject_key", models.BinaryField()),
                ("release", models.TextField(default="")),
                ("base_release", models.TextField(default="")),
                ("page", models.TextField(null=True)),
                ("subject", models.TextField(default="")),
                (
                    "state",
                    models.SmallIntegerField(
                        choices=[(0, "Unknown"), (1, "Ok"), (2, "Suspected"), (3, "Confirmed"), (4, "Resolved")]
                    ),
                ),
                ("look", models.SmallIntegerField(null=True)),
                ("base_views", models.BigIntegerField(null=True)),
                ("views", models.BigIntegerField(default=0)),
                ("value", models.FloatField(null=True)),
                ("low", models.FloatField(null=True)),
                ("high", models.FloatField(null=True)),
                ("relative", models.FloatField(null=True)),
                ("threshold", models.FloatField(null=True)),
                ("q", models.FloatField(null=True)),
                ("bound", models.FloatField(null=True)),
                ("culprit", models.TextField(null=True)),
                ("began_at", models.DateTimeField(null=True)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.IntegerField()),
                ("at", models.DateTimeField()),
                (
                    "was",
                    models.SmallIntegerField(
                        choices=[(0, "Unknown"), (1, "Ok"), (2, "Suspected"), (3, "Confirmed"), (4, "Resolved")]
                    ),
                ),
                (
                    "cause",
                    models.CharField(
                        choices=[("look", "Look"), ("day", "Day"), ("release", "Newer Release"), ("person", "Person"), ("gone", "Gone"), ("rollback", "Rolled Back"), ("back", "Back")],
                        max_length=10,
                    ),
                ),
                ("about_release", models.TextField(default="")),
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
                "indexes": [
                    models.Index(fields=["project", "-at"], name="change_by_age"),
                    models.Index(fields=["project", "watch_id", "subject_key", "-id"], name="change_of_subject"),
                ],
            },
        ),
    ]
