from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0030_packs"),
    ]

    operations = [
        migrations.AddField(
            model_name="announcedrelease",
            name="commit",
            field=models.TextField(null=True),
        ),
        migrations.AddField(
            model_name="announcedrelease",
            name="base_commit",
            field=models.TextField(null=True),
        ),
        migrations.AddField(
            model_name="announcedrelease",
            name="released_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="announcedrelease",
            name="author",
            field=models.TextField(null=True),
        ),
        migrations.AddField(
            model_name="announcedrelease",
            name="link",
            field=models.TextField(null=True),
        ),
        migrations.AddField(
            model_name="announcedrelease",
            name="range_link",
            field=models.TextField(null=True),
        ),
        migrations.AddField(
            model_name="announcedrelease",
            name="rolled_back_at",
            field=models.DateTimeField(null=True),
        ),
    ]
