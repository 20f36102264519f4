"""A name that a client chose stands for one watch, or one channel, of a project. Built beside the running server."""

from django.db import migrations, models
from django.db.migrations.operations.base import Operation


def build_index(model: str) -> Operation:
    """Returns the operation that builds the index of a model. It can be built again after an interruption."""
    name, table = f"{model}_by_slug", f"aggregate_{model}"
    has_slug = models.Q(slug__isnull=False)
    drop = f"DROP INDEX CONCURRENTLY IF EXISTS {name}"
    create = f"CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {table} (project_id, slug) WHERE slug IS NOT NULL"
    return migrations.SeparateDatabaseAndState(
        state_operations=[
            migrations.AddConstraint(
                model, models.UniqueConstraint(fields=["project", "slug"], name=name, condition=has_slug)
            )
        ],
        database_operations=[
            migrations.RunSQL(drop, migrations.RunSQL.noop),
            migrations.RunSQL(create, drop),
        ],
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("aggregate", "0029_guard_slugs")]

    operations = [build_index("watch"), build_index("channel")]
