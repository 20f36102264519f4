from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('aggregate', '0005_jobs'),
    ]

    operations = [
        migrations.AddField(
            model_name='refoldrun',
            name='fold_version',
            field=models.SmallIntegerField(db_default=0),
        ),
    ]
