"""What a job has done in all its attempts. A null column: instant, and older processes may go on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("aggregate", "0018_verdict_looks")]

    operations = [migrations.AddField("job", "counts", models.JSONField(null=True))]
