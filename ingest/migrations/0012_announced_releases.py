import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0011_claim_tokens"),
    ]

    operations = [
        migrations.AddField(
            model_name="group",
            name="closed_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.CreateModel(
            name="AnnouncedRelease",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "release", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="ingest.project"),
                ),
                ("release", models.TextField()),
                ("announced_at", models.DateTimeField()),
            ],
        ),
    ]
