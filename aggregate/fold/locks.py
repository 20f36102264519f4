"""Advisory locks: of groups, for changes of their sums, and one that keeps raw traces from being deleted meanwhile.

Every other change of a group's sums has its lock alone. Only folds of different stripes of it share the lock.
"""

from collections.abc import Sequence
from typing import Final
from zlib import crc32

from django.db import connection

from aggregate.fold.stripes import STRIPES
from ingest.deadline import idle_timeout

RAW_LOCK: Final = 0x7261_7765  # "rawe"
MERGE_CLASS: Final = -1  # in the place of the project's id in groups' locks, which is positive
STRIPE_CLASS: Final = -1  # minus the project's id


def lock_groups(project_id: int, group_ids: Sequence[int]) -> None:
    """Takes the groups' locks until the transaction ends. `group_ids` ascend, so no two workers deadlock."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT pg_advisory_xact_lock(%s::int, g)
               FROM set_config('idle_in_transaction_session_timeout', %s, true), unnest(%s::int[]) AS g""",
            [project_id, idle_timeout(), list(group_ids)],
        )
        cursor.fetchall()


def lock_stripes(project_id: int, group_ids: Sequence[int], shared: int, stripes: Sequence[int]) -> None:
    """Takes the groups' locks as `lock_groups` does, except that one is `shared`, and then its stripes' locks.

    Stripes come after all groups, so that no holder of one waits for a group.
    """
    numbers = sorted((shared * STRIPES + stripe + 2**31) % 2**32 - 2**31 for stripe in stripes)  # as int4
    rows = [(project_id, group_id, group_id == shared) for group_id in group_ids]
    rows += [(STRIPE_CLASS - project_id, number, False) for number in numbers]
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT CASE WHEN is_shared THEN pg_advisory_xact_lock_shared(class, number)
                           ELSE pg_advisory_xact_lock(class, number) END
               FROM set_config('idle_in_transaction_session_timeout', %s, true),
                    unnest(%s::int[], %s::int[], %s::boolean[]) AS l (class, number, is_shared)""",
            [idle_timeout(), *(list(column) for column in zip(*rows, strict=True))],
        )
        cursor.fetchall()


def lock_cells(project_id: int, cell_ids: Sequence[int]) -> None:
    """Locks the rows of cells in ascending order, so that two folds that share a group never deadlock."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT id FROM aggregate_cell WHERE project_id = %s AND id = ANY(%b::int[])
               ORDER BY id FOR NO KEY UPDATE""",
            [project_id, sorted(cell_ids)],
        )


def try_keys(project_id: int, table: str, keys: Sequence[tuple[object, ...]]) -> list[bool]:
    """Tells of each key of a table of pieces whether this transaction, and no other one, merges its pieces now.

    The numbers are checksums: if two keys have the same one, only one of them is merged at a time.
    """
    numbers = [-(project_id << 32 | crc32(repr((table, key)).encode())) for key in keys]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(n) FROM unnest(%s::bigint[]) AS n", [numbers])
        return [is_ours for (is_ours,) in cursor]


def hold_merges(project_id: int) -> None:
    """Keeps refolds of a project from starting until the transaction ends; merges still may. Lock the group first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT pg_advisory_xact_lock_shared(%s, %s)
               FROM set_config('idle_in_transaction_session_timeout', %s, true)""",
            [MERGE_CLASS, project_id, idle_timeout()],
        )


def lock_merges(project_id: int) -> None:
    """Waits for the merges of a project, and blocks new ones until the transaction ends. Take no group's lock after."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s, %s) FROM set_config('idle_in_transaction_session_timeout', %s, true)",
            [MERGE_CLASS, project_id, idle_timeout()],
        )


def hold_raw_traces() -> None:
    """Keeps retention from deleting raw traces until the transaction ends; many may hold it. Lock groups first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock_shared(%s) FROM set_config('idle_in_transaction_session_timeout', %s, true)",
            [RAW_LOCK, idle_timeout()],
        )


def lock_raw_traces() -> None:
    """Waits until no transaction holds raw traces, and blocks others until the transaction ends. Take no group's lock
    after.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s) FROM set_config('idle_in_transaction_session_timeout', %s, true)",
            [RAW_LOCK, idle_timeout()],
        )
