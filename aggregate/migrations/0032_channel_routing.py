"""Which watches and pages a channel gets messages about. Nullable columns: older parts send everything, as before."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("aggregate", "0031_asked_of_changes")]

    operations = [
        migrations.AddField("channel", "watch_ids", ArrayField(models.IntegerField(), null=True)),
        migrations.AddField("channel", "pages", ArrayField(models.TextField(), null=True)),
    ]
