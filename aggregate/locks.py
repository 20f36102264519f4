"""Advisory locks: one a group, for whoever changes its sums; and one for raw traces that must not vanish meanwhile."""

from collections.abc import Sequence
from typing import Final

from django.db import connection

RAW_LOCK: Final = 0x7261_7765  # "rawe"
MERGE_CLASS: Final = -1  # where groups' locks have a project's id, which is positive


def lock_groups(project_id: int, group_ids: Sequence[int]) -> None:
    """Takes the groups' advisory locks until the transaction ends; `group_ids` ascend, so no two workers deadlock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s::int, g) FROM unnest(%s::int[]) AS g", [project_id, list(group_ids)]
        )
        cursor.fetchall()


def hold_merges(project_id: int) -> None:
    """Keeps refolds of a project from starting until the transaction ends; many merges may. Lock the group first."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s, %s)", [MERGE_CLASS, project_id])


def lock_merges(project_id: int) -> None:
    """Waits until no merge of a project is under way, and lets none until then. Take no group's lock after it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [MERGE_CLASS, project_id])


def hold_raw_traces() -> None:
    """Keeps retention from deleting raw traces until the transaction ends; many may. Lock groups first."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [RAW_LOCK])


def lock_raw_traces() -> None:
    """Waits until nobody holds raw traces, and lets nobody until then. Take no group's lock after it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [RAW_LOCK])
