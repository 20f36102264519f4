from django.db import migrations


class Migration(migrations.Migration):
    """Releases that have source maps already count as announced."""

    dependencies = [
        ("aggregate", "0013_claim_tokens"),
        ("ingest", "0012_announced_releases"),
    ]

    operations = [
        migrations.RunSQL(
            """INSERT INTO ingest_announcedrelease (project_id, release, announced_at)
               SELECT project_id, release, max(uploaded_at) FROM aggregate_releasescript GROUP BY 1, 2
               ON CONFLICT DO NOTHING""",
            migrations.RunSQL.noop,
        ),
    ]
