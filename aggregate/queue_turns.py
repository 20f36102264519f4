"""Whose turn it is: both queues, of jobs and of scripts, take the projects by their last turn.

The numbers of unfinished entries cannot say this: with one at a time, the project that had a turn a moment ago looks
like one that never had any.
"""

from typing import Final

from django.db import connection

from aggregate.models import QueueTurn

# Projects of which nothing is in work come first, then those that had no turn yet, then by the last one. For rows of
# waiting entries with `held_count`, the entries of their project in work, and the joined row of `QueueTurn`.
TURN_ORDER: Final = "held_count, last_turn_at NULLS FIRST"
NOTE: Final = """
INSERT INTO aggregate_queueturn (project_id, queue, last_turn_at) VALUES (%s, %s, statement_timestamp())
ON CONFLICT (project_id, queue) DO UPDATE SET last_turn_at = EXCLUDED.last_turn_at
"""


def note_turn(project_id: int, queue: QueueTurn.Queue) -> None:
    """Notes that a project's entry is taken now. Call it in the transaction that claims, under the queue's lock."""
    with connection.cursor() as cursor:
        cursor.execute(NOTE, [project_id, queue.value])
