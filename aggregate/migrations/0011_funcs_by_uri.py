"""Funcs by their script: symbolication asks for them. Built beside the folds that go on interning."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import MD5


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("aggregate", "0010_source_maps")]

    operations = [
        AddIndexConcurrently(
            "func",
            models.Index(
                models.F("project"),
                MD5("uri"),
                models.F("id"),
                condition=models.Q(uri__isnull=False),
                name="func_by_uri",
            ),
        ),
    ]
