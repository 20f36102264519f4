"""Tokens may have the scope `watches`. Only the choices that Django knows: no SQL, and older parts do not notice."""

import django.contrib.postgres.fields
from django.db import migrations, models

SCOPES = [
    ("read", "Read"),
    ("raw", "Raw"),
    ("sourcemaps", "Sourcemaps"),
    ("erase", "Erase"),
    ("audit", "Audit"),
    ("watches", "Watches"),
]


class Migration(migrations.Migration):
    dependencies = [("ingest", "0032_release_commits")]

    operations = [
        migrations.AlterField(
            "apitoken",
            "scope",
            models.CharField(choices=SCOPES, db_default="read", default="read", max_length=12),
        ),
        migrations.AlterField(
            "apitoken",
            "scopes",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(choices=SCOPES, max_length=12),
                db_default=models.Value("{}"),
                default=list,
                size=None,
            ),
        ),
    ]
