from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0013_byte_quotas"),
    ]

    operations = [
        migrations.AddField(
            model_name="receipt",
            name="navigation",
            field=models.SmallIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="receipt",
            name="snippet_us",
            field=models.IntegerField(null=True),
        ),
    ]
