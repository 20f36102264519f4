from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingest', '0015_collection'),
    ]

    operations = [
        migrations.AddField(
            model_name='receipt',
            name='used_interval_us',
            field=models.IntegerField(null=True),
        ),
    ]
