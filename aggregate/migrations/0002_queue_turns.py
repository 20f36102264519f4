import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """When each queue last took an entry of a project. Older workers do not ask for it."""

    dependencies = [
        ("aggregate", "0001_initial"),
        ("projects", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="QueueTurn",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "queue", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("queue", models.SmallIntegerField(choices=[(0, "Jobs"), (1, "Scripts")])),
                ("last_turn_at", models.DateTimeField()),
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
    ]
