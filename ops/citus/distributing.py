"""Distributing the tables over the workers of a Citus cluster.

All tables change together, in one transaction: a statement finds them all in one place, before or after. Who comes
meanwhile waits, and the ingest endpoint answers 503. Tables that a migration makes later follow by
`migrate`; partitions follow their table, which Citus does by itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db import connection, transaction

from ingest.citus import has_citus
from ops.citus.placement import SHARD_COLUMN, Place, list_places, list_tables

NO_EXTENSION: Final = (
    "This database has no Citus. Install it on the coordinator and on each worker, start them with "
    "shared_preload_libraries = 'citus', and give CREATE EXTENSION citus in this database on all of them "
    "(docs/scale.md)."
)
NO_COORDINATOR: Final = (
    "Citus does not know the address of this server. Give SELECT citus_set_coordinator_host('its name', its port), "
    "by which the workers reach it (docs/scale.md)."
)
NO_WORKERS: Final = (
    "Citus knows no worker. Give SELECT citus_add_node('its name', its port) for each of them (docs/scale.md)."
)
# What Citus knows of a table. A table of 'n' has one shard: on every server ('t'), or on the coordinator.
KNOWN: Final = """
SELECT c.relname, p.partmethod = 'h', p.partmethod = 'n' AND p.repmodel = 't',
       CASE WHEN p.partmethod = 'h' THEN column_to_column_name(p.logicalrelid, p.partkey) END, p.colocationid
FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
"""
PARTITIONS: Final = """
SELECT c.relname, parent.relname FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class parent ON parent.oid = i.inhparent
WHERE parent.relname = ANY(%s) AND parent.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
ORDER BY 1
"""
# Older rows stay in the original table, which queries no longer read, until they are cleared.
LEFT_BEHIND: Final = """
SELECT c.relname FROM pg_class c JOIN pg_dist_partition p ON p.logicalrelid = c.oid
WHERE p.partmethod IN ('h', 'n') AND c.relkind = 'r' AND pg_relation_size(c.oid) > 0 ORDER BY 1
"""


class CannotDistribute(Exception):
    """The server is not ready; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a table is, and where it should be."""

    table: str
    wanted: Place
    actual: Place
    is_astray: bool = False  # distributed, but by another column, or apart from the others

    @property
    def is_right(self) -> bool:
        """Returns whether nothing is to do."""
        return self.wanted is self.actual and not self.is_astray


def is_distributed() -> bool:
    """Returns whether any table is on the workers."""
    return has_citus() and any(standing.actual is Place.DISTRIBUTED for standing in look())


def check_server() -> list[tuple[str, int]]:
    """Returns the workers. Raises `CannotDistribute` with what is missing."""
    if not has_citus():
        raise CannotDistribute(NO_EXTENSION)
    with connection.cursor() as cursor:
        cursor.execute("SELECT groupid = 0, nodename, nodeport FROM pg_dist_node WHERE isactive ORDER BY 2, 3")
        nodes = cursor.fetchall()
        cursor.execute("SELECT nodename, nodeport FROM pg_dist_node WHERE isactive AND shouldhaveshards ORDER BY 1, 2")
        workers: list[tuple[str, int]] = cursor.fetchall()
    if not any(is_coordinator for is_coordinator, *_ in nodes):
        raise CannotDistribute(NO_COORDINATOR)
    if not workers:
        raise CannotDistribute(NO_WORKERS)
    return workers


def look() -> list[Standing]:
    """Returns where every table and partition is."""
    wanted = list_places()
    with connection.cursor() as cursor:
        cursor.execute(PARTITIONS, [list(wanted)])
        wanted |= {partition: wanted[table] for partition, table in cursor.fetchall()}
        known: dict[str, tuple[bool, bool, str | None, int]] = {}
        if has_citus():
            cursor.execute(KNOWN)
            known = {name: rest for name, *rest in cursor.fetchall()}
    return [_stand(table, place, known) for table, place in wanted.items()]


def _stand(table: str, wanted: Place, known: dict[str, tuple[bool, bool, str | None, int]]) -> Standing:
    is_hash, is_copied, column, group = known.get(table, (False, False, None, 0))
    actual = Place.DISTRIBUTED if is_hash else Place.REFERENCE if is_copied else Place.LOCAL
    first = known.get(list_tables(Place.DISTRIBUTED)[0])
    astray = is_hash and (column != SHARD_COLUMN or (first is not None and group != first[3]))
    return Standing(table, wanted, actual, astray)


def distribute(say: Callable[[str], None] = lambda _: None) -> int:
    """Brings every table to its place, and returns how many had to move. Raises `CannotDistribute`.

    Either all of them move, or none. It may be killed at any time and given again.
    """
    check_server()
    standings = {standing.table: standing for standing in look()}
    if wrong := [table for table, standing in standings.items() if standing.is_astray]:
        raise CannotDistribute(
            f"Distributed already, but not by {SHARD_COLUMN} together with the others: {', '.join(wrong)}. "
            "Move them with alter_distributed_table, and give the command again."
        )
    moving = [
        table
        for place in (Place.REFERENCE, Place.DISTRIBUTED)
        for table in list_tables(place)
        if standings[table].actual is not place
    ]
    if moving:
        with transaction.atomic(), connection.cursor() as cursor:
            _take(moving)
            for table in moving:
                say(table)
                if standings[table].wanted is Place.REFERENCE:
                    cursor.execute("SELECT create_reference_table(%s::text::regclass)", [table])
                else:
                    _distribute_table(table)
    clear_left_behind()
    return len(moving)


def _distribute_table(table: str) -> None:
    first = list_tables(Place.DISTRIBUTED)[0]
    with connection.cursor() as cursor:
        if table == first:
            cursor.execute(
                """SELECT create_distributed_table(%s::text::regclass, %s::text, colocate_with => 'none',
                                                   shard_count => %s)""",
                [table, SHARD_COLUMN, settings.CITUS_SHARDS],
            )
        else:
            cursor.execute(
                "SELECT create_distributed_table(%s::text::regclass, %s::text, colocate_with => %s::text)",
                [table, SHARD_COLUMN, first],
            )


def clear_left_behind() -> None:
    """Deletes the rows that are on the workers by now from the coordinator's disk."""
    with connection.cursor() as cursor:
        cursor.execute(LEFT_BEHIND)
        left = [table for (table,) in cursor.fetchall()]
        for table in left:
            cursor.execute("SELECT truncate_local_data_after_distributing_table(%s::text::regclass)", [table])


def _take(tables: Sequence[str]) -> None:
    """Locks tables for the rest of the transaction: all at once, so that no one waits for us who has one of them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{settings.MIGRATE_LOCK_MS}ms"])
        cursor.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
        cursor.execute("SET LOCAL lock_timeout = 0")
        # Keys to a table that all servers have are checked on each: one connection to each worker sees all of it.
        cursor.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
