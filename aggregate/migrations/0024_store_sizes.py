"""The size of the database by the hour, for the doctor. A new table: instant, and older processes do not know it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("aggregate", "0020_hotspot_pieces")]

    operations = [
        migrations.CreateModel(
            name="StoreSize",
            fields=[
                ("measured_at", models.DateTimeField(primary_key=True, serialize=False)),
                ("database_bytes", models.BigIntegerField()),
            ],
        )
    ]
