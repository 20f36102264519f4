"""Marking packs whose rows are deleted: what waits to be written anew, and what to be deleted.

Rows of raw traces come first and packs after them, in every transaction that locks both.
"""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from django.db import connection
from psycopg.sql import SQL, Identifier


def mark_packs(project_id: int, pack_ids: Sequence[UUID]) -> None:
    """Marks packs of which this transaction has deleted rows: they wait to be written anew.

    The mark is a new one each time, so that a process that writes one of them anew at the moment does not take its own
    bytes for all that must go.
    """
    if pack_ids:
        with connection.cursor() as cursor:
            cursor.execute(
                """UPDATE ingest_pack SET tidy_at = statement_timestamp()
                   WHERE project_id = %s AND doomed_at IS NULL AND id IN (
                       SELECT id FROM ingest_pack WHERE project_id = %s AND id = ANY(%s::uuid[])
                       ORDER BY id FOR UPDATE)""",
                [project_id, project_id, list(pack_ids)],
            )


def doom_packs_of_day(day: date) -> int:
    """Marks all packs of a day for deletion, whose rows this transaction has dropped. Returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ingest_pack SET doomed_at = now(), tidy_at = NULL WHERE day_on = %s AND doomed_at IS NULL", [day]
        )
        return int(cursor.rowcount)


def doom_unnamed_packs(project_id: int, day: date, partition: str) -> int:
    """Marks those packs of a project and day for deletion that no row of the day's partition names any more."""
    with connection.cursor() as cursor:
        query = SQL(
            """UPDATE ingest_pack p SET doomed_at = now(), tidy_at = NULL
               WHERE p.project_id = %s AND p.day_on = %s AND p.doomed_at IS NULL AND NOT EXISTS (
                   SELECT FROM {partition} t WHERE t.project_id = p.project_id AND t.pack_id = p.id)"""
        )
        cursor.execute(query.format(partition=Identifier(partition)), [project_id, day])
        return int(cursor.rowcount)


def doom_packs_of_project(project_id: int) -> int:
    """Marks all packs of a project for deletion. Returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ingest_pack SET doomed_at = now(), tidy_at = NULL WHERE project_id = %s AND doomed_at IS NULL",
            [project_id],
        )
        return int(cursor.rowcount)
