import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0012_announced_releases"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="max_mb_per_day",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="project",
            name="max_kept_mb",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="DayBytes",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "day_on", "shard", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="ingest.project",
                    ),
                ),
                ("day_on", models.DateField()),
                ("shard", models.SmallIntegerField()),
                ("bytes", models.BigIntegerField()),
            ],
        ),
    ]
