"""Going to a migration and back, in tests."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def migrate(*target: tuple[str, str | None]) -> None:
    """Migrates to these targets, forwards or backwards."""
    MigrationExecutor(connection).migrate(list(target))


def migrate_to_newest() -> None:
    """Migrates everything to the newest schema."""
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
