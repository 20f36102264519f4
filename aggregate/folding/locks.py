"""Advisory locks: one per group for changes of its sums, and one to keep raw traces from being deleted meanwhile."""

from collections.abc import Sequence
from typing import Final

from django.db import connection

from ingest.patience import bound_idle_time

RAW_LOCK: Final = 0x7261_7765  # "rawe"
MERGE_CLASS: Final = -1  # in the place of the project's id in groups' locks, which is positive


def lock_groups(project_id: int, group_ids: Sequence[int]) -> None:
    """Takes the groups' locks until the transaction ends. `group_ids` ascend, so no two workers deadlock."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT pg_advisory_xact_lock(%s::int, g) FROM {bound_idle_time()}, unnest(%s::int[]) AS g",
            [project_id, list(group_ids)],
        )
        cursor.fetchall()


def hold_merges(project_id: int) -> None:
    """Keeps refolds of a project from starting until the transaction ends; merges still may. Lock the group first."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT pg_advisory_xact_lock_shared(%s, %s) FROM {bound_idle_time()}",
            [MERGE_CLASS, project_id],
        )


def lock_merges(project_id: int) -> None:
    """Waits for the merges of a project, and blocks new ones until the transaction ends. Take no group's lock after."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock(%s, %s) FROM {bound_idle_time()}", [MERGE_CLASS, project_id])


def hold_raw_traces() -> None:
    """Keeps retention from deleting raw traces until the transaction ends; many may hold it. Lock groups first."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock_shared(%s) FROM {bound_idle_time()}", [RAW_LOCK])


def lock_raw_traces() -> None:
    """Waits until nobody holds raw traces, and blocks others until the transaction ends. Take no group's lock after."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock(%s) FROM {bound_idle_time()}", [RAW_LOCK])
