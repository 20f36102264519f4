"""All tables of alerts: rules, states, channels and messages."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models



class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('projects', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.IntegerField()),
                ('kind', models.CharField(choices=[('mail', 'Mail'), ('webhook', 'Webhook'), ('slack', 'Slack'), ('teams', 'Teams')], max_length=10)),
                ('name', models.CharField(max_length=80)),
                ('hint', models.CharField(max_length=255)),
                ('sealed', models.BinaryField()),
                ('is_on', models.BooleanField(default=True)),
                ('tells_suspected', models.BooleanField(default=False)),
                ('is_digest', models.BooleanField(default=False)),
                ('quiet_from', models.SmallIntegerField(null=True)),
                ('quiet_to', models.SmallIntegerField(null=True)),
                ('time_zone', models.CharField(default='UTC', max_length=64)),
                ('alert_ids', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None)),
                ('pages', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None)),
                ('owners', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None)),
                ('created_at', models.DateTimeField()),
                ('slug', models.CharField(max_length=64, null=True)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('slug__isnull', False)), fields=('project', 'slug'), name='channel_by_slug')],
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField()),
                ('channel_id', models.IntegerField()),
                ('change_ids', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ('title', models.TextField()),
                ('state', models.SmallIntegerField(choices=[(0, 'Waiting'), (1, 'Sent'), (2, 'Failed')], default=0)),
                ('created_at', models.DateTimeField()),
                ('due_at', models.DateTimeField()),
                ('attempts', models.IntegerField(default=0)),
                ('tries', models.SmallIntegerField(default=0)),
                ('claimed_until', models.DateTimeField(null=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('status', models.SmallIntegerField(null=True)),
                ('problem', models.TextField(null=True)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', (0, 2))), fields=['state', 'due_at'], name='message_due'), models.Index(fields=['project', '-created_at'], name='message_by_age')],
            },
        ),
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'change_id', 'channel_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('change_id', models.IntegerField()),
                ('channel_id', models.IntegerField()),
                ('release', models.TextField(default='')),
                ('due_at', models.DateTimeField()),
                ('message_id', models.UUIDField(null=True)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('message_id', None)), fields=['due_at'], name='notice_due')],
            },
        ),
        migrations.CreateModel(
            name='StateChange',
            fields=[
                ('alert_id', models.IntegerField()),
                ('subject_key', models.BinaryField()),
                ('release', models.TextField(default='')),
                ('base_release', models.TextField(default='')),
                ('page', models.TextField(null=True)),
                ('subject', models.TextField(default='')),
                ('state', models.SmallIntegerField(choices=[(0, 'Unknown'), (1, 'Ok'), (2, 'Suspected'), (3, 'Confirmed'), (4, 'Resolved')])),
                ('look', models.SmallIntegerField(null=True)),
                ('base_views', models.BigIntegerField(null=True)),
                ('views', models.BigIntegerField(default=0)),
                ('value', models.FloatField(null=True)),
                ('low', models.FloatField(null=True)),
                ('high', models.FloatField(null=True)),
                ('relative', models.FloatField(null=True)),
                ('threshold', models.FloatField(null=True)),
                ('q', models.FloatField(null=True)),
                ('bound', models.FloatField(null=True)),
                ('culprit', models.TextField(null=True)),
                ('party', models.TextField(null=True)),
                ('began_at', models.DateTimeField(null=True)),
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.IntegerField()),
                ('at', models.DateTimeField()),
                ('was', models.SmallIntegerField(choices=[(0, 'Unknown'), (1, 'Ok'), (2, 'Suspected'), (3, 'Confirmed'), (4, 'Resolved')])),
                ('cause', models.CharField(choices=[('look', 'Look'), ('day', 'Day'), ('release', 'Newer Release'), ('person', 'Person'), ('gone', 'Gone'), ('rollback', 'Rolled Back'), ('back', 'Back'), ('unwatched', 'Unwatched'), ('changed', 'Changed'), ('deleted', 'Deleted')], max_length=10)),
                ('about_release', models.TextField(default='')),
                ('asked', models.JSONField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', '-at'], name='change_by_age'), models.Index(fields=['project', 'alert_id', 'subject_key', '-id'], name='change_of_subject')],
            },
        ),
        migrations.CreateModel(
            name='AlertRule',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.IntegerField()),
                ('kind', models.CharField(choices=[('release', 'Release'), ('budget', 'Budget'), ('new_third_parties', 'New Third Parties')], max_length=20)),
                ('name', models.CharField(max_length=80)),
                ('question', models.JSONField(default=dict)),
                ('is_on', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField()),
                ('due_at', models.DateTimeField()),
                ('evaluated_at', models.DateTimeField(null=True)),
                ('problem', models.TextField(null=True)),
                ('slug', models.CharField(max_length=64, null=True)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('is_on', True)), fields=['due_at'], name='alert_due')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('slug__isnull', False)), fields=('project', 'slug'), name='alert_by_slug')],
            },
        ),
        migrations.CreateModel(
            name='AlertState',
            fields=[
                ('alert_id', models.IntegerField()),
                ('subject_key', models.BinaryField()),
                ('release', models.TextField(default='')),
                ('base_release', models.TextField(default='')),
                ('page', models.TextField(null=True)),
                ('subject', models.TextField(default='')),
                ('state', models.SmallIntegerField(choices=[(0, 'Unknown'), (1, 'Ok'), (2, 'Suspected'), (3, 'Confirmed'), (4, 'Resolved')])),
                ('look', models.SmallIntegerField(null=True)),
                ('base_views', models.BigIntegerField(null=True)),
                ('views', models.BigIntegerField(default=0)),
                ('value', models.FloatField(null=True)),
                ('low', models.FloatField(null=True)),
                ('high', models.FloatField(null=True)),
                ('relative', models.FloatField(null=True)),
                ('threshold', models.FloatField(null=True)),
                ('q', models.FloatField(null=True)),
                ('bound', models.FloatField(null=True)),
                ('culprit', models.TextField(null=True)),
                ('party', models.TextField(null=True)),
                ('began_at', models.DateTimeField(null=True)),
                ('pk', models.CompositePrimaryKey('project_id', 'alert_id', 'subject_key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('bad', models.SmallIntegerField(default=0)),
                ('quiet', models.SmallIntegerField(default=0)),
                ('since_at', models.DateTimeField()),
                ('seen_at', models.DateTimeField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', (2, 3))), fields=['state'], name='state_open')],
            },
        ),
    ]
