"""The backend that `DATABASES` names; Django looks for this module and this class."""

from typing import Any

from django.db.backends.postgresql import base
from psycopg_pool import ConnectionPool

from ingest.deadline import wait_until_deadline
from ingest.storage.store_pool import STORE_POOL
from ops.database.schema import DatabaseSchemaEditor


class PatientPool:
    """A pool that lets a request wait for a connection as long as its deadline lasts, and others as the pool does."""

    def __init__(self, pool: ConnectionPool) -> None:
        self.pool = pool

    def __getattr__(self, name: str) -> Any:  # Any: as the pool has it
        return getattr(self.pool, name)

    def getconn(self) -> Any:  # Any: a connection of the pool's class
        """Returns a connection. Raises `DeadlineExceeded` or `psycopg_pool.PoolTimeout`."""
        return wait_until_deadline(self.pool.getconn, "requests")


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, with a patient pool, and migrations that do not wait long for locks."""

    SchemaEditorClass = DatabaseSchemaEditor

    def close_pool(self) -> None:
        """Closes also the connections on which posts are stored."""
        super().close_pool()
        STORE_POOL.close()

    @property
    def pool(self) -> PatientPool | None:
        pool = super().pool
        return PatientPool(pool) if pool else None
