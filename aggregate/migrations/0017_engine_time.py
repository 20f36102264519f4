"""The part of time `engine`, and what is uncertain of hidden time. Constant defaults: no row is written again."""

from django.db import migrations, models


def big() -> "models.BigIntegerField[int, int]":
    return models.BigIntegerField(default=0, db_default=0)


class Migration(migrations.Migration):
    dependencies = [
        ("aggregate", "0016_navigation"),
    ]

    operations = [
        *(
            migrations.AddField(model, name, field)
            for model, samples in (
                ("cell", big()),
                ("pageday", big()),
                ("view", models.IntegerField(default=0, db_default=0)),
            )
            for name, field in (("engine_us", big()), ("engine_samples", samples))
        ),
        migrations.AddField("hotspot", "uncertain_us", big()),
        migrations.AddField("dayhotspot", "uncertain_us", big()),
    ]
