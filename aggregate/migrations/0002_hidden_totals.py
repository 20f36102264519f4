from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("aggregate", "0001_initial")]

    operations = [
        migrations.AddField("hotspot", "hidden_total_us", models.BigIntegerField(default=0, db_default=0)),
    ]
