"""Cells by navigation. The key is built beside the folds that go on, and can be built again after an interruption."""

from django.db import migrations, models

COLUMNS = ("project", "group_id", "bucket_at", "grain", "device_class", "browser")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("aggregate", "0015_func_bounds"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddField(
                    model_name="cell",
                    name="navigation",
                    field=models.SmallIntegerField(db_default=0),
                ),
                migrations.RemoveConstraint(model_name="cell", name="cell_once"),
                migrations.AddConstraint(
                    model_name="cell",
                    constraint=models.UniqueConstraint(fields=(*COLUMNS, "navigation"), name="cell_once"),
                ),
            ],
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE aggregate_cell ADD COLUMN IF NOT EXISTS navigation smallint NOT NULL DEFAULT 0",
                    "ALTER TABLE aggregate_cell DROP COLUMN navigation",
                ),
                migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS cell_once_new", migrations.RunSQL.noop),
                migrations.RunSQL(
                    """CREATE UNIQUE INDEX CONCURRENTLY cell_once_new ON aggregate_cell
                       (project_id, group_id, bucket_at, grain, device_class, browser, navigation)""",
                    # Fails if cells of several navigations exist, as it must.
                    """ALTER TABLE aggregate_cell ADD CONSTRAINT cell_once
                       UNIQUE (project_id, group_id, bucket_at, grain, device_class, browser)""",
                ),
                migrations.RunSQL(
                    """ALTER TABLE aggregate_cell DROP CONSTRAINT IF EXISTS cell_once,
                       ADD CONSTRAINT cell_once UNIQUE USING INDEX cell_once_new""",
                    "ALTER TABLE aggregate_cell DROP CONSTRAINT cell_once",
                ),
            ],
        ),
    ]
