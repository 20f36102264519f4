"""The lock for changes of a project's scripts, labels and sources: one at a time, in short transactions."""

from typing import Final

from django.db import connection

from ingest.deadline import idle_timeout

SCRIPTS_LOCK: Final = 0x736D_6170  # "smap"


def lock_scripts(project_id: int) -> None:
    """Takes the project's lock until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT pg_advisory_xact_lock(%s::int, %s::int)
               FROM set_config('idle_in_transaction_session_timeout', %s, true)""",
            [SCRIPTS_LOCK, project_id, idle_timeout()],
        )
