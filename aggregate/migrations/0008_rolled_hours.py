"""Cells know whether their hotspots are in the roll-up of their day; hours that are over come into it too."""

from django.db import migrations, models


# Days are in it already; of hours that were merged nothing is left to roll up. Beat rolls the others.
ROLL_DAYS = "UPDATE aggregate_cell SET is_rolled = true WHERE grain = 1 OR merged_into IS NOT NULL"


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
            index=models.Index(condition=models.Q(('is_rolled', False)), fields=['bucket_at'], name='cell_to_roll'),
        ),
        migrations.RunSQL(ROLL_DAYS, migrations.RunSQL.noop),
    ]
