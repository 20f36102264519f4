"""Channels for messages, the outbox, and the log of messages."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("aggregate", "0027_watches")]

    operations = [
        migrations.CreateModel(
            name="Channel",
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
                        choices=[("mail", "Mail"), ("webhook", "Webhook"), ("slack", "Slack"), ("teams", "Teams")],
                        max_length=10,
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("hint", models.CharField(max_length=255)),
                ("sealed", models.BinaryField()),
                ("is_on", models.BooleanField(default=True)),
                ("tells_suspected", models.BooleanField(default=False)),
                ("is_digest", models.BooleanField(default=False)),
                ("quiet_from", models.SmallIntegerField(null=True)),
                ("quiet_to", models.SmallIntegerField(null=True)),
                ("time_zone", models.CharField(default="UTC", max_length=64)),
                ("created_at", models.DateTimeField()),
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
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id",
                        "change_id",
                        "channel_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("change_id", models.IntegerField()),
                ("channel_id", models.IntegerField()),
                ("release", models.TextField(default="")),
                ("due_at", models.DateTimeField()),
                ("message_id", models.UUIDField(null=True)),
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
                    models.Index(condition=models.Q(("message_id", None)), fields=["due_at"], name="notice_due")
                ],
            },
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField()),
                ("channel_id", models.IntegerField()),
                ("change_ids", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ("title", models.TextField()),
                ("state", models.SmallIntegerField(choices=[(0, "Waiting"), (1, "Sent"), (2, "Failed")], default=0)),
                ("created_at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("attempts", models.IntegerField(default=0)),
                ("tries", models.SmallIntegerField(default=0)),
                ("claimed_until", models.DateTimeField(null=True)),
                ("sent_at", models.DateTimeField(null=True)),
                ("status", models.SmallIntegerField(null=True)),
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
                "indexes": [
                    models.Index(condition=models.Q(("state__in", (0, 2))), fields=["state", "due_at"], name="message_due"),
                    models.Index(fields=["project", "-created_at"], name="message_by_age"),
                ],
            },
        ),
    ]
