"""The roll-up of call trees: those of the rolled cells of a group's day, in pieces as cells have them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('aggregate', '0008_rolled_hours'),
        ('ingest', '0007_sample_rate_of_one'),
    ]

    operations = [
        migrations.CreateModel(
            name='DayTreePiece',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'group_id', 'day_at', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('group_id', models.IntegerField()),
                ('day_at', models.DateTimeField()),
                ('id', models.IntegerField()),
                ('node_count', models.IntegerField()),
                ('blob', models.BinaryField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='ingest.project')),
            ],
        ),
    ]
