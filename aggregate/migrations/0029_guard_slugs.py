"""The names that clients of the API choose for watches and channels. Nullable columns: older parts do not notice."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("aggregate", "0028_channels")]

    operations = [
        migrations.AddField("watch", "slug", models.CharField(max_length=64, null=True)),
        migrations.AddField("channel", "slug", models.CharField(max_length=64, null=True)),
    ]
