from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('aggregate', '0003_after_the_fold'),
    ]

    operations = [
        migrations.AddField(
            model_name='refoldrun',
            name='fold_version',
            field=models.SmallIntegerField(db_default=0),
        ),
    ]
