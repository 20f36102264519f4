from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingest', '0019_saved_views'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='is_sample',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
