"""Scopes, an end and the last use of API tokens. Columns with constant defaults: older releases go on beside them."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingest', '0023_audit_log'),
    ]

    operations = [
        migrations.AlterField(
            model_name='apitoken',
            name='scope',
            field=models.CharField(choices=[('read', 'Read'), ('raw', 'Raw'), ('sourcemaps', 'Sourcemaps'), ('erase', 'Erase'), ('audit', 'Audit')], db_default='read', default='read', max_length=12),
        ),
        migrations.AddField(
            model_name='apitoken',
            name='scopes',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'Read'), ('raw', 'Raw'), ('sourcemaps', 'Sourcemaps'), ('erase', 'Erase'), ('audit', 'Audit')], max_length=12), db_default=models.Value('{}'), default=list, size=None),
        ),
        migrations.AddField(
            model_name='apitoken',
            name='expires_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='apitoken',
            name='last_used_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
