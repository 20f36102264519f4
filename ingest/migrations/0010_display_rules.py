from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0009_code_rules"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="display_rules",
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list),
        ),
    ]
