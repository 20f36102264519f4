"""The roll-up has hours that are over too, and call trees; cells know whether they are in it."""

from django.db import migrations, models

# Beat rolls all cells, days too: then the roll-up has their call trees as well. Until then questions read the cells.
BEGIN_ANEW = "TRUNCATE aggregate_dayhotspot"


class Migration(migrations.Migration):

    dependencies = [
        ('aggregate', '0007_day_hotspots'),
        ('ingest', '0007_sample_rate_of_one'),
    ]

    operations = [
        migrations.AddField(
            model_name='cell',
            name='is_rolled',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddIndex(
            model_name='cell',
            index=models.Index(condition=models.Q(('is_rolled', False), ('merged_into', None)), fields=['bucket_at'], name='cell_to_roll'),
        ),
        migrations.RunSQL(BEGIN_ANEW, migrations.RunSQL.noop),
    ]
