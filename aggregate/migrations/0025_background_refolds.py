"""Refolds that beat starts, the rules by which workers fold, and the progress of data steps. Instant."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("aggregate", "0024_store_sizes")]

    operations = [
        migrations.AddField("refoldrun", "is_background", models.BooleanField(default=False, db_default=False)),
        migrations.AddField("refoldrun", "total_cells", models.IntegerField(null=True)),
        migrations.AddField("refoldrun", "paused_at", models.DateTimeField(null=True)),
        migrations.AddField("claimant", "fold_version", models.SmallIntegerField(null=True)),
        migrations.CreateModel(
            name="DataStep",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("cursor", models.JSONField(null=True)),
                ("rows", models.BigIntegerField(default=0)),
                ("started_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                ("paused_at", models.DateTimeField(null=True)),
            ],
        ),
    ]
