from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingest', '0016_used_interval'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='archived_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='deletion_started_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='deleted_rows',
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='rows_to_delete',
            field=models.BigIntegerField(blank=True, null=True),
        ),
    ]
