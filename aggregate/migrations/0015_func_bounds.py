from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("aggregate", "0014_announced_releases"),
        ("ingest", "0012_announced_releases"),
    ]

    operations = [
        migrations.AddField(
            model_name="func",
            name="unused_since",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name="func",
            index=models.Index(
                condition=models.Q(("unused_since__isnull", False)), fields=["project"], name="func_unused"
            ),
        ),
        migrations.CreateModel(
            name="InlineOrigin",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "origin", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=models.deletion.CASCADE,
                        to="ingest.project",
                    ),
                ),
                ("origin", models.TextField()),
            ],
        ),
        migrations.RunSQL(
            """INSERT INTO aggregate_inlineorigin (project_id, origin)
               SELECT project_id, origin FROM (
                   SELECT u.project_id, u.origin, row_number() OVER (PARTITION BY u.project_id ORDER BY min(u.id)) AS place
                   FROM (SELECT f.project_id, f.id, f.uri, substring(f.uri FROM '^https?://[^/]+') AS origin
                         FROM aggregate_func f WHERE f.uri ~ '^https?://[^/]+/') AS u
                   WHERE substr(u.uri, length(u.origin) + 1)
                         IN (SELECT g.page FROM ingest_group g WHERE g.project_id = u.project_id)
                   GROUP BY 1, 2) AS o
               WHERE place <= 1000 AND length(origin) <= 300""",
            migrations.RunSQL.noop,
        ),
        migrations.CreateModel(
            name="FuncDay",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "day_on", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=models.deletion.CASCADE,
                        to="ingest.project",
                    ),
                ),
                ("day_on", models.DateField()),
                ("made", models.IntegerField()),
                ("beyond", models.BigIntegerField()),
            ],
        ),
    ]
