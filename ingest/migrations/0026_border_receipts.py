import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0025_provider_identities")]

    operations = [
        migrations.CreateModel(
            name="BorderReceipt",
            fields=[
                ("pk", models.CompositePrimaryKey("project_id", "view_id", "seq", blank=True, editable=False, primary_key=True, serialize=False)),
                ("view_id", models.UUIDField()),
                ("seq", models.IntegerField()),
                ("received_at", models.DateTimeField()),
                ("project", models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to="ingest.project")),
            ],
        ),
    ]
