"""What a watch asked when a state changed: its question may be another one later. A nullable column, as before."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("aggregate", "0030_guard_slugs_once")]

    operations = [
        migrations.AddField("statechange", "asked", models.JSONField(null=True)),
        migrations.AlterField(
            "statechange",
            "cause",
            models.CharField(
                choices=[
                    ("look", "Look"),
                    ("day", "Day"),
                    ("release", "Newer Release"),
                    ("person", "Person"),
                    ("gone", "Gone"),
                    ("rollback", "Rolled Back"),
                    ("back", "Back"),
                    ("unwatched", "Unwatched"),
                    ("changed", "Changed"),
                    ("deleted", "Deleted"),
                ],
                max_length=10,
            ),
        ),
    ]
